import { escapeText } from "../charts/escape-text.ts";
import type { ScaledChart } from "../charts/scale.ts";
import { figure } from "../figures.ts";

/** One chart of a section: its title, its finding in words, the chart and its numbers. */
export interface Panel {
  /** With several outputs, panels with the same title are side by side. */
  readonly title: string;
  readonly finding: string;
  /** HTML, or a chart that shares its scale with those beside it. */
  readonly chart: string | ScaledChart;
  /** The key: names of lines and marks, HTML from `keyLine`. */
  readonly key?: string;
  /** HTML from `numbersTable`. */
  readonly numbers?: string;
  /** It takes the whole width. */
  readonly isWide?: boolean;
}

/** @param owner the output's name, if there are several. @param within further values that the scale contains. */
export function panelHtml(
  { title, finding, chart, key = "", numbers = "", isWide }: Panel,
  owner?: string,
  within: readonly number[] = [],
): string {
  const picture = typeof chart === "string" ? chart : chart.draw(within);
  const whose = owner === undefined ? "" : ` <span class="owner"><bdi>${escapeText(owner)}</bdi></span>`;
  const kind = isWide ? ' class="wide"' : "";
  return `<figure${kind}><figcaption><h3>${escapeText(title)}${whose}</h3><p>${sentenceHtml(finding)}</p>${key}</figcaption>${picture}${numbers}</figure>`;
}

/** The marks of a chart, as the style sheet draws them. */
export type KeyMark =
  | "line"
  | "line second"
  | "line faint"
  | "band"
  | "level"
  | "at"
  | "bar"
  | "bar second"
  | "dot"
  | "dot second"
  | "dot miss"
  | "whisker"
  | "interval"
  | "return"
  | "train";

/** The meaning of the marks of a chart. */
export function keyLine(entries: readonly (readonly [mark: KeyMark, meaning: string])[]): string {
  const items = entries.map(
    ([mark, meaning]) =>
      `<li><svg width="22" height="12" aria-hidden="true">${swatch(mark)}</svg>${escapeText(meaning)}</li>`,
  );
  return `<ul class="key">${items.join("")}</ul>`;
}

function swatch(mark: KeyMark): string {
  const [kind] = mark.split(" ");
  switch (kind) {
    case "band":
    case "bar":
    case "train":
      return `<path class="${mark}" d="M2 1h18v10h-18z"/>`;
    case "dot":
      return `<path class="${mark}" d="M11 6h0"/>`;
    case "at":
    case "return":
    case "whisker":
      return `<path class="${mark}" d="M11 0v12"/>`;
    default:
      return `<path class="${mark}" d="M0 6h22"/>`;
  }
}

/** Sentences as HTML in which dates do not break across lines. */
export function sentenceHtml(text: string): string {
  return escapeText(text).replaceAll(/\b\d{4}-\d{2}-\d{2}\b/g, '<span class="date">$&</span>');
}

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
