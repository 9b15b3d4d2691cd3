import { escapeText } from "../charts/escape-text.ts";
import { figure } from "../data/figures.ts";

/** More rows do not help beside a chart. */
const MAX_ROWS = 60;

/** A table of text. The first column names the row; the other columns are numbers, aligned right. */
export interface NumbersTable {
  readonly caption: string;
  readonly columns: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

/** The numbers of a chart, folded. With more than 60 rows it has evenly spaced ones, including the last. */
export function numbersTable(table: NumbersTable): string {
  const { caption, rows } = table;
  const every = Math.ceil(rows.length / MAX_ROWS);
  const kept = rows.filter((_, i) => (rows.length - 1 - i) % every === 0);
  const which = every === 1 ? "" : `, ${kept.length} of ${figure(rows.length, "count")} rows`;
  return `<details><summary>Numbers<span class="unseen">: ${escapeText(caption)}</span>${which}</summary>${plainTable({ ...table, rows: kept })}</details>`;
}

/** The same table, open. */
export function plainTable({ caption, columns, rows }: NumbersTable): string {
  const head = columns.map((name) => `<th scope="col">${escapeText(name)}</th>`).join("");
  const body = rows.map(
    ([name, ...cells]) =>
      `<tr><th scope="row"><bdi>${escapeText(name!)}</bdi></th>${cells.map((cell) => `<td>${escapeText(cell)}</td>`).join("")}</tr>`,
  );
  return `<div class="scroll" tabindex="0" role="group" aria-label="${escapeText(caption)}"><table><thead><tr>${head}</tr></thead><tbody>${body.join("\n")}</tbody></table></div>`;
}
