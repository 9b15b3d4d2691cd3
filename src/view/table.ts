import type { VNode } from "preact";
import { type Child, html } from "./html.ts";

export interface Column<Row> {
  /** A class of its cells, such as `number`, which aligns them to the right. */
  readonly kind?: string;
  readonly title: Child;
  cell(row: Row): Child;
}

/** How a table is sorted, and what a click on the header of a column does. */
export interface TableOrder {
  /** The number of the column. */
  readonly column: number;
  readonly isDescending: boolean;
  onSort(column: number): void;
}

interface Table<Row> {
  /** Of the box that scrolls, for screen readers. */
  readonly name: string;
  /** The first one is the header of its row. */
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  /** Classes of the table: with `cards`, each row is a card on a narrow screen, whose cells have the titles of their columns. */
  readonly kind?: string;
  readonly order?: TableOrder;
  /** What stays the same of a row when it changes. */
  keyOf?(row: Row): string;
}

/** A table in a box that scrolls. */
export function table<Row>({ name, columns, rows, kind = "numbers", order, keyOf }: Table<Row>): VNode {
  const [first, ...others] = columns;
  return html`<div class="scroll" tabindex="0" role="region" aria-label=${name}>
    <table class=${kind}>
      <thead><tr>${columns.map((column, i) => head(column, i, order))}</tr></thead>
      <tbody>${rows.map(
        (row) => html`<tr key=${keyOf?.(row)}>
          <th scope="row" class=${first!.kind}>${first!.cell(row)}</th>
          ${others.map(
            ({ kind: cell, title, cell: contents }) =>
              html`<td class=${cell} data-title=${typeof title === "string" ? title : undefined}>${contents(row)}</td>`,
          )}
        </tr>`,
      )}</tbody>
    </table>
  </div>`;
}

function head<Row>({ title, kind }: Column<Row>, i: number, order: TableOrder | undefined): VNode {
  if (order === undefined || title === "") return html`<th scope="col" class=${kind}>${title}</th>`;
  const direction = order.isDescending ? "descending" : "ascending";
  return html`<th scope="col" class=${kind} aria-sort=${order.column === i ? direction : undefined}>
    <button type="button" class="sort" onClick=${() => order.onSort(i)}>${title}</button>
  </th>`;
}
