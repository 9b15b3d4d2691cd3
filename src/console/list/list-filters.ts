import type { TargetedEvent, VNode } from "preact";
import { useRef } from "preact/hooks";
import { TAG_LIMITS, TAG_PATTERN } from "../../contract/config/limits.ts";
import { html, onText, select } from "../../view/html.ts";
import { bdi } from "../../view/text.ts";
import { KINDS, STATUSES } from "../words.ts";
import { orderOf, RUN_COLUMNS } from "./run-columns.ts";

interface ListFiltersProps {
  /** Of the address, which has the values of the controls. */
  readonly params: URLSearchParams;
  /** Filters of the service: other runs are read. */
  onFilter(change: (params: URLSearchParams) => void): void;
  /** What concerns only the rows on the page. */
  onShown(change: (params: URLSearchParams) => void): void;
}

/** Lists the runs that also have this tag. */
export function addTag(params: URLSearchParams, tag: string): void {
  const tags = params.getAll("tag");
  if (!tags.includes(tag) && tags.length < TAG_LIMITS.tags) params.append("tag", tag);
}

const ORDERS = RUN_COLUMNS.flatMap(({ key, title }) => [
  [`-${key}`, `${title}, descending`] as const,
  [key, `${title}, ascending`] as const,
]);

/** The controls above the table. */
export function ListFilters({ params, onFilter, onShown }: ListFiltersProps): VNode {
  const form = useRef<HTMLFormElement>(null);
  const setter = (name: string, value: string) => (changed: URLSearchParams) =>
    value === "" ? changed.delete(name) : changed.set(name, value);
  const choose = (name: string, label: string, choices: readonly (readonly [string, string])[]) =>
    html`<label>${label} ${select(params.get(name) ?? "", [["", "all"], ...choices], {
      onChange: onText((text) => onFilter(setter(name, text))),
    })}</label>`;
  const onTag = ({ currentTarget: input }: TargetedEvent<HTMLInputElement>) => {
    const tag = input.value.trim();
    input.value = tag;
    if (tag === "" || !input.reportValidity()) return;
    onFilter((changed) => addTag(changed, tag));
    input.value = "";
  };
  const removeTag = (tag: string) => {
    onFilter((changed) => changed.delete("tag", tag));
    form.current!.querySelector<HTMLElement>("input")!.focus();
  };
  return html`<form class="filters" aria-label="Filters" ref=${form} onSubmit=${(event: Event) => event.preventDefault()}>
    ${choose("status", "Status", STATUSES)}
    ${choose("operation", "Kind", Object.entries(KINDS))}
    <label>Tag${" "}
      <input type="text" autocomplete="off" spellcheck=${false} pattern=${TAG_PATTERN} placeholder="Add a tag"
        title=${`1 to ${TAG_LIMITS.characters} printable ASCII characters`} onChange=${onTag} /></label>
    <label>Text${" "}
      <input type="search" autocomplete="off" spellcheck=${false} placeholder="In these rows" value=${params.get("text") ?? ""}
        onInput=${onText((text) => onShown(setter("text", text.trimStart())))} /></label>
    <label class="order">Sort by ${select(orderOf(params.get("sort")), ORDERS, {
      onChange: onText((text) => onShown(setter("sort", text))),
    })}</label>
    <span class="tags">${params.getAll("tag").map(
      (tag) => html`<button type="button" class="tag" aria-label=${`Remove the filter by tag ${tag}`}
        onClick=${() => removeTag(tag)}>${bdi(tag)} ×</button>`,
    )}</span>
  </form>`;
}
