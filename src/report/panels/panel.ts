import { formatDay } from "../../contract/market/dates.ts";
import { bandFigure, countedRows, figure, NO_FIGURE, type Unit, wholePercent } from "../../view/figures.ts";
import { columnChart } from "../charts/column-chart.ts";
import { lineChart } from "../charts/line-chart.ts";
import { escapeText } from "../charts/plot.ts";
import type { ScaledChart } from "../charts/scale.ts";
import type { Band } from "../statistics/over-dates.ts";

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
  /** The measure of order that it shows; the page shows the panels of one of the two at a time. */
  readonly measure?: Measure;
  /** In a report on one output, panels with the same `card` share a card with a tab each. */
  readonly tab?: { readonly card: string; readonly label: string };
}

/** The two measures of order that a page switches between. */
export type Measure = "ic" | "rank";

/** How a panel is placed. */
interface Place {
  /** The output's name, if there are several. */
  readonly owner?: string;
  /** Further values that the scale contains. */
  readonly within?: readonly number[];
  /** Its share of a row, a class of the style sheet. */
  readonly span?: string;
}

export function panelHtml(
  { title, finding, chart, key = "", numbers = "", isWide, measure }: Panel,
  { owner, within = [], span }: Place = {},
): string {
  const picture = typeof chart === "string" ? chart : chart.draw(within);
  const whose = owner === undefined ? "" : ` <span class="owner"><bdi>${escapeText(owner)}</bdi></span>`;
  const classes = [isWide ? "wide" : span, measure && `of-${measure}`].filter(Boolean);
  const kind = classes.length === 0 ? "" : ` class="${classes.join(" ")}"`;
  return `<figure${kind}><figcaption><h3>${escapeText(title)}${whose}</h3><p>${sentenceHtml(finding)}</p>${key}</figcaption>${picture}${numbers}</figure>`;
}

/** The marks of a chart, as the style sheet draws them. */
type KeyMark =
  | "line"
  | "line second"
  | "line faint"
  | "band"
  | "band inner"
  | "bar bad"
  | "level"
  | "at"
  | "bar"
  | "bar second"
  | "bar bad"
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
interface NumbersTable {
  readonly caption: string;
  readonly columns: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

/** The numbers of a chart, folded. With more than 60 rows it has evenly spaced ones, including the last. */
export function numbersTable(table: NumbersTable): string {
  const { caption, rows } = table;
  const every = Math.ceil(rows.length / MAX_ROWS);
  const kept = rows.filter((_, i) => (rows.length - 1 - i) % every === 0);
  const which =
    every === 1 ? "" : `<p class="faint">${kept.length} of ${figure(rows.length, "count")} rows</p>`;
  return `<details class="numbers"><summary>Numbers<span class="unseen">: ${escapeText(caption)}</span></summary>${which}${plainTable({ ...table, rows: kept })}</details>`;
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

/** A line over dates. */
interface DatedLine {
  readonly title: string;
  readonly finding: string;
  /** Shape (n), ascending; NaN in `values` is a gap. */
  readonly days: Int32Array;
  readonly values: Float64Array;
  readonly unit: Unit;
  /** The name of the line in the readout. */
  readonly name: string;
  /** The meaning of the line. */
  readonly meaning: string;
  /** Half the width of a band around 0, shape (n), and its meaning; NaN without a band. */
  readonly band?: { readonly half: Float64Array; readonly meaning: string };
  /** A horizontal dashed line, and its meaning if the reader needs to know it. */
  readonly level?: { readonly value: number; readonly meaning?: string };
  /** Short ticks up from the axis, and their meaning. */
  readonly ticks?: { readonly days: readonly number[]; readonly meaning: string } | undefined;
  /** Columns of the table of numbers beside the date: shape (n) each. */
  readonly columns: readonly (readonly [name: string, values: Float64Array])[];
  readonly measure?: Measure;
}

/** A line over dates with a key and its numbers; without values only its finding. */
export function linePanel({
  title,
  finding,
  days,
  values,
  unit,
  name,
  meaning,
  band,
  level,
  ticks,
  columns,
  measure,
}: DatedLine): Panel {
  const shown = measure === undefined ? {} : { measure };
  if (values.every(Number.isNaN)) return { title, finding, chart: "", ...shown };
  const drawn = band === undefined || band.half.every(Number.isNaN) ? undefined : band;
  return {
    ...shown,
    title,
    finding,
    chart: lineChart({
      finding,
      x: days,
      xKind: "day",
      unit,
      lines: [{ name, values }],
      band: drawn && { low: drawn.half.map((half) => -half), high: drawn.half },
      levels: level === undefined ? [] : [level.value],
      ...(ticks && { ticks: ticks.days }),
    }),
    key: keyLine([
      ["line", meaning],
      ...(drawn === undefined ? [] : [["band", drawn.meaning] as const]),
      ...(level?.meaning === undefined ? [] : [["level", level.meaning] as const]),
      ...(ticks === undefined ? [] : [["at", ticks.meaning] as const]),
    ]),
    numbers: numbersTable({
      caption: title,
      columns: ["Date", ...columns.map(([column]) => column)],
      rows: Array.from(days, (_, i) => i)
        .filter((i) => columns.some(([, column]) => !Number.isNaN(column[i]!)))
        .map((i) => [formatDay(days[i]!), ...columns.map(([, column]) => figure(column[i], unit))]),
    }),
  };
}

/** Means over dates, a column for each. */
interface DateMeans {
  readonly title: string;
  readonly finding: string;
  readonly unit: Unit;
  /** The meaning of a column. */
  readonly meaning: string;
  /** The caption of the table of numbers. */
  readonly caption: string;
  /** The headings of the names and of the means in that table. */
  readonly headings: readonly [name: string, mean: string];
  /** Whether a mean below 0 is bad. */
  readonly isJudged?: boolean;
  readonly means: readonly DateMean[];
}

interface DateMean {
  /** In the table, and below the column unless it has a label. */
  readonly name: string;
  readonly label?: string;
  readonly dates: number;
  readonly mean: number;
  readonly band: Band | null;
}

/** Columns with their bands, a key, and their numbers. */
export function meanPanel({
  title,
  finding,
  unit,
  meaning,
  caption,
  headings,
  means,
  isJudged = false,
}: DateMeans): Panel {
  const band = `${wholePercent(95)} band`;
  return {
    title,
    finding,
    chart: columnChart({
      finding,
      labels: means.map(({ name, label = name }) => label),
      unit,
      series: [means.map(({ mean }) => mean)],
      bands: means.map((one) => one.band),
      isJudged,
    }),
    key: keyLine([
      ["bar", meaning],
      ["whisker", `its ${band}`],
    ]),
    numbers: numbersTable({
      caption,
      columns: [headings[0], "Dates", headings[1], band],
      rows: means.map((one) => [
        one.name,
        figure(one.dates, "count"),
        figure(one.mean, unit),
        one.band === null ? NO_FIGURE : bandFigure(one.band, unit),
      ]),
    }),
  };
}

/** Up to this many tickers, each has a bar. */
const MAX_BARS = 49;
/** Beyond that, show only this many at the top and at the bottom. */
export const END_BARS = 10;

/** The rows of a list that a chart shows. */
interface Ends<T> {
  readonly shown: readonly T[];
  /** The rows that are left out between the top and the bottom; absent if the list is short. */
  readonly gap?: { readonly after: number; readonly rows: number };
}

/** The top and the bottom of a list that is too long for a chart, or the whole list. */
export function ends<T>(rows: readonly T[]): Ends<T> {
  if (rows.length <= MAX_BARS) return { shown: rows };
  return {
    shown: [...rows.slice(0, END_BARS), ...rows.slice(-END_BARS)],
    gap: { after: END_BARS, rows: rows.length - 2 * END_BARS },
  };
}

/** A year whose number of dates or rows is below this share of the longest year gets no column: one date would dwarf the rest. */
const MIN_SHARE = 0.05;

/** The years that a chart shows, and a sentence about the omitted years. */
export function longYears<T extends { readonly year: number; readonly n: number }>(
  years: readonly T[],
  noun: string,
): { readonly long: readonly T[]; readonly note: string } {
  const longest = years.reduce((most, { n }) => Math.max(most, n), 0);
  const isLong = ({ n }: T) => n >= MIN_SHARE * longest;
  const short = years.filter((year) => !isLong(year));
  const named = short.map(({ year, n }) => `${year} (${countedRows(n, noun)})`).join(", ");
  const note = short.length === 0 ? "" : ` Not shown, too few: ${named}.`;
  return { long: years.filter(isLong), note };
}
