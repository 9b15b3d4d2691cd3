import type { VNode } from "preact";
import { type Chart, chart, type extentsOf, keyOf } from "./chart.ts";
import { type Child, html } from "./html.ts";
import { bdi, sentence } from "./text.ts";

/** One finding: a sentence that says it, the chart that shows it, and its numbers. */
export interface Panel {
  readonly title?: string;
  /** The accessible name of the chart begins like it. Untrusted. */
  readonly sentence: string;
  readonly chart?: Chart | undefined;
  /** What is below the chart, or in its place. */
  readonly body?: Child;
  /** A folded table, of `numbers`. */
  readonly numbers?: VNode;
}

/** Where a panel is. */
interface Place {
  /** A class of its figure. */
  readonly kind?: string | undefined;
  /** Whose it is, beside those of others; untrusted. */
  readonly owner?: string | undefined;
  /** Further values of the axes. */
  readonly within?: ReturnType<typeof extentsOf>;
}

export function panel(
  { title, sentence: text, chart: drawn, body, numbers }: Panel,
  { kind, owner, within }: Place = {},
): VNode {
  return html`<figure class=${kind}>
    <figcaption>
      ${title !== undefined && html`<h3>${title}${owner !== undefined && html`<span class="owner">${bdi(owner)}</span>`}</h3>`}
      <p>${sentence(text)}</p>
      ${drawn && keyOf(drawn.marks)}
    </figcaption>
    ${drawn && chart(drawn, text, within)}${body}${numbers}
  </figure>`;
}

export type Fact = readonly [term: string, ...what: Child[]];

/** Terms with what they are. @param kind a class of the list. */
export function facts(pairs: readonly (Fact | false)[], kind = "facts"): VNode {
  return html`<dl class=${kind}>${pairs.map(
    (pair) => pair && html`<div><dt>${pair[0]}</dt><dd>${pair.slice(1)}</dd></div>`,
  )}</dl>`;
}
