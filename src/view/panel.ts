import type { VNode } from "preact";
import { type Child, html } from "./html.ts";
import { type Column, table } from "./table.ts";

/** One finding: a sentence that says it, the chart or the marks that show it, and its numbers. */
export interface Panel<Row> {
  readonly sentence: Child;
  /** What the marks mean, in words. */
  readonly key?: Child;
  readonly marks: Child;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
}

/** @param name of the table of numbers, which is folded. */
export function panel<Row>({ sentence, key, marks, columns, rows }: Panel<Row>, name: string): VNode {
  return html`<figure>
    <figcaption><p>${sentence}</p></figcaption>
    ${key !== undefined && html`<ul class="key">${key}</ul>`}
    ${marks}
    <details><summary>Show numbers</summary>${table({ name, columns, rows })}</details>
  </figure>`;
}

export type Fact = readonly [term: string, ...what: Child[]];

/** Terms with what they are. */
export function facts(pairs: readonly (Fact | false)[]): VNode {
  return html`<dl class="facts">${pairs.map(
    (pair) => pair && html`<div><dt>${pair[0]}</dt><dd>${pair.slice(1)}</dd></div>`,
  )}</dl>`;
}
