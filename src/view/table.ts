import type { VNode } from "preact";
import type { Band } from "../contract/output/test-quantile.ts";
import { bandFigure, figure, NO_FIGURE, type Unit } from "./figures.ts";
import { type Child, html } from "./html.ts";
import { bdi } from "./text.ts";

/** A column: figures of a unit, text such as names, bands, or cells of its own. */
export type ColumnSpec<Row> =
  | readonly [title: string, unit: Unit, value: (row: Row, i: number) => number | null | undefined]
  | readonly [title: string, kind: "text", text: (row: Row, i: number) => string]
  | readonly [title: string, kind: "band", unit: Unit, band: (row: Row, i: number) => Band | null | undefined]
  | Column<Row>;

export interface Column<Row> {
  /** A class of its cells, such as `number`, which aligns them to the right. */
  readonly kind?: string;
  readonly title: Child;
  cell(row: Row, i?: number): Child;
}

function cellsOf<Row>(column: ColumnSpec<Row>): Column<Row> {
  if (!Array.isArray(column)) return column as Column<Row>;
  const [title, kind, ...rest] = column as Exclude<ColumnSpec<Row>, Column<Row>>;
  const of = rest.at(-1) as (row: Row, i: number) => unknown;
  return {
    title,
    cell: (row, i = 0) => {
      const value = of(row, i);
      if (kind === "text") return bdi(value as string);
      if (kind !== "band") return figure(value as number | null | undefined, kind);
      return value == null ? NO_FIGURE : bandFigure(value as Band, rest[0] as Unit);
    },
  };
}

interface TableOrder {
  /** The number of the column. */
  readonly column: number;
  readonly isDescending: boolean;
  onSort(column: number): void;
}

interface Table<Row> {
  /** Of the box that scrolls, for screen readers. */
  readonly name: string;
  /** The first one is the header of its row. */
  readonly columns: readonly (ColumnSpec<Row> | false)[];
  readonly rows: readonly Row[];
  /** Classes of the table: with `cards`, each row is a card on a narrow screen, whose cells have the titles of their columns. */
  readonly kind?: string;
  readonly order?: TableOrder;
  /** What stays the same of a row when it changes. */
  keyOf?(row: Row): string;
}

/** A table in a box that scrolls. */
export function table<Row>({ name, columns, rows, kind = "numbers", order, keyOf }: Table<Row>): VNode {
  const shown = columns.filter((column) => column !== false).map(cellsOf);
  const [first, ...others] = shown;
  const isCards = kind.includes("cards");
  return html`<div class="scroll" tabindex="0" role="group" aria-label=${name}>
    <table class=${kind}>
      <thead><tr>${shown.map((column, i) => head(column, i, order))}</tr></thead>
      <tbody>${rows.map(
        (row, i) => html`<tr key=${keyOf?.(row)}>
          <th scope="row" class=${first!.kind}>${first!.cell(row, i)}</th>
          ${others.map(
            ({ kind: cell, title, cell: contents }) =>
              html`<td class=${cell} data-title=${isCards && typeof title === "string" ? title : undefined}>${contents(row, i)}</td>`,
          )}
        </tr>`,
      )}</tbody>
    </table>
  </div>`;
}

/** More rows do not help beside a chart. */
const MAX_NUMBERS = 60;

/** The numbers of a chart, folded. With more than 60 rows it has evenly spaced ones, including the first and the last. */
export function numbers<Row>({ rows, ...rest }: Table<Row>): VNode {
  const every = Math.ceil((rows.length - 1) / (MAX_NUMBERS - 1));
  const kept = rows.filter((_, i) => i === 0 || (rows.length - 1 - i) % every === 0);
  return html`<details class="numbers">
    <summary>Numbers<span class="unseen">: ${rest.name}</span></summary>
    ${every > 1 && html`<p class="faint">${kept.length} of ${figure(rows.length, "count")} rows</p>`}
    ${table({ ...rest, rows: kept })}
  </details>`;
}

function head<Row>({ title, kind }: Column<Row>, i: number, order: TableOrder | undefined): VNode {
  if (order === undefined || title === "") return html`<th scope="col" class=${kind}>${title}</th>`;
  const direction = order.isDescending ? "descending" : "ascending";
  return html`<th scope="col" class=${kind} aria-sort=${order.column === i ? direction : undefined}>
    <button type="button" class="sort" onClick=${() => order.onSort(i)}>${title}</button>
  </th>`;
}
