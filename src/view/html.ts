import htm from "htm";
import { type ComponentChildren, h as create, type VNode } from "preact";

/** What an element can contain. */
export type Child = ComponentChildren;

type Template = (strings: TemplateStringsArray, ...values: readonly unknown[]) => VNode;

/**
 * Markup that is parsed when it is first rendered, so that a browser runs it without a build. Components are not named in it: a plain
 * function is called, and one with hooks goes through `h`, so that the compiler checks their props.
 */
export const html = (htm as unknown as { bind(to: typeof create): Template }).bind(create);

/** A component with its props. */
export const h = create as <P>(
  component: (props: P) => Child,
  props: P & { readonly key?: string | number },
) => VNode;

/** The listener of a control that passes on its text. */
export function onText(act: (text: string) => void) {
  return ({ currentTarget }: { readonly currentTarget: { readonly value: string } }) =>
    act(currentTarget.value);
}

/** A list to choose from, by value and words. @param attributes of the element, such as its listeners. */
export function select(
  value: string,
  options: readonly (readonly [value: string, words: string])[],
  attributes: Readonly<Record<string, unknown>>,
): VNode {
  return html`<select ...${attributes} value=${value}>${options.map(
    ([each, words]) => html`<option value=${each}>${words}</option>`,
  )}</select>`;
}
