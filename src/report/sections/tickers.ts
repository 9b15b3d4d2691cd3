import type { VNode } from "preact";
import type { Metrics } from "../../contract/output/metrics-schemas.ts";
import type { ScoredRows } from "../../outputs/scored-rows.ts";
import { axisOf } from "../../view/axis.ts";
import { chart, frame, keyOf, type Mark } from "../../view/chart.ts";
import { countedRows, figure, type Unit } from "../../view/figures.ts";
import { type Child, html } from "../../view/html.ts";
import { GRID, gridX, gridY, type Point, polyline } from "../../view/path.ts";
import { bdi, sentence } from "../../view/text.ts";
import type { OutputEvidence } from "../evidence/output-evidence.ts";
import type { ReportedOutput } from "../evidence/reported-outputs.ts";
import { type Section, scoreRowsNote } from "../section.ts";

/** The table of tickers; each row opens to the forecasts of its ticker. */
export const tickersSection: Section = {
  id: "tickers",
  title: "Tickers",
  render: (report) =>
    html`${scoreRowsNote(report)}${report.outputs.map((output) => tableOf(output, report.outputs.length > 1))}`,
};

interface TickerRow {
  readonly ticker: string;
  readonly mu: number | undefined;
  readonly metrics: Metrics;
  /** Undefined if no labelled row has an interval. */
  readonly coverage: number | undefined;
  /** Running sum of squared returns minus squared errors, shape (n): what the forecasts gained over the zero forecast. */
  readonly gain: Float64Array;
  readonly series: ScoredRows;
}

interface Column {
  readonly name: string;
  /** Its sort key. */
  readonly of: (row: TickerRow) => number | null | undefined;
  /** Undefined for one that is drawn. */
  readonly unit: Unit | undefined;
  /** Hidden on narrow screens. */
  readonly isSpare?: boolean;
}

const COLUMNS: readonly Column[] = [
  { name: "Forecast", of: ({ mu }) => mu, unit: "mu" },
  { name: "R² against zero", of: ({ metrics }) => metrics.r2_zero, unit: "r2" },
  { name: "R² against mean", of: ({ metrics }) => metrics.r2_mean, unit: "r2", isSpare: true },
  { name: "Correlation", of: ({ metrics }) => metrics.correlation, unit: "ic", isSpare: true },
  { name: "Hit rate", of: ({ metrics }) => metrics.hit_rate, unit: "coverage", isSpare: true },
  { name: "RMSE", of: ({ metrics }) => metrics.rmse, unit: "rmse", isSpare: true },
  { name: "Coverage", of: ({ coverage }) => coverage, unit: "coverage" },
  { name: "Rows", of: ({ metrics }) => metrics.n || null, unit: "count", isSpare: true },
  { name: "Gain over zero", of: ({ gain }) => gain.at(-1), unit: undefined },
];

/** The number of dates to draw, shared by all tickers of a page so that a page with many tickers stays small. */
const ALL_DATES = 30_000;
const MAX_DATES = 500;
const MIN_DATES = 50;

/** In characters; the opened row has the whole name. */
const MAX_NAME_LENGTH = 40;

/** Tickers by code point. */
function tableOf({ common, name: owner }: ReportedOutput, isAmongSeveral: boolean): VNode {
  const heading = isAmongSeveral && html`<h3>${bdi(owner)}</h3>`;
  const rows = common.rows.map((row) => rowOf(common, row));
  if (rows.length === 0) return html`<div class="table">${heading}<p>No ticker has a forecast.</p></div>`;
  const dates = Math.max(MIN_DATES, Math.min(MAX_DATES, Math.floor(ALL_DATES / rows.length)));
  // What no ticker has, as coverage without intervals, has no column.
  const columns = COLUMNS.filter(({ of }) => rows.some((row) => of(row) != null));
  const kindOf = ({ isSpare }: Column) => isSpare && "spare";
  const drawn = rows.map(({ series }) => marksOf(series, dates));
  const head = columns.map(
    (column) => html`<th scope="col" aria-sort="none" class=${kindOf(column)}>${column.name}</th>`,
  );
  const key = drawn.reduce((a, b) => (b.filter(isKept).length > a.filter(isKept).length ? b : a));
  const body = rows.map((row, i) => {
    const cells = columns.map((column) => {
      const value = column.of(row);
      const text = column.unit === undefined ? sparkLine(row.gain) : figure(value, column.unit);
      const sort = value == null ? undefined : Number(value.toPrecision(6));
      return html`<td class=${kindOf(column)} data-v=${sort}>${text}</td>`;
    });
    const words = sentenceOf(row);
    return html`<tbody><tr><th scope="row"><details><summary>${bdi(row.ticker, MAX_NAME_LENGTH)}</summary></details></th>${cells}</tr>
      <tr class="more"><td colspan=${columns.length + 1}><p>${sentence(words)}</p>${chart({ x: "days", y: { unit: "return" }, marks: drawn[i]!, height: 200 }, words)}</td></tr></tbody>`;
  });
  return html`<div class="table">${heading}
    <p>${sentence(tickersSentence(rows, common))}</p>
    ${keyOf(key)}
    <p class="search" hidden><label>Search for a ticker <input type="search" autocomplete="off" spellcheck="false" /></label> <span role="status"></span></p>
    <div class="list" tabindex="0" role="group" aria-label=${`Tickers of ${owner}`}><table class="tickers">
      <caption class="unseen">Tickers of ${bdi(owner)}</caption>
      <thead><tr><th scope="col" aria-sort="ascending">Ticker</th>${head}</tr></thead>
      ${body}
    </table></div>
  </div>`;
}

const isKept = ({ points }: Mark) => points.length > 0;

function rowOf({ document, table, coverage }: OutputEvidence, series: ScoredRows): TickerRow {
  const { ticker } = series;
  return {
    ticker,
    mu: Object.hasOwn(document.mu, ticker) ? document.mu[ticker] : undefined,
    metrics: table.by_ticker.get(ticker)!,
    coverage: coverage?.by_ticker.get(ticker)?.coverage ?? undefined,
    gain: gainOverZero(series),
    series,
  };
}

/** The running sum over the labelled rows; beyond the range of a float64 it is empty. */
export function gainOverZero({
  predicted,
  realised,
}: Pick<ScoredRows, "predicted" | "realised">): Float64Array {
  const gains: number[] = [];
  let sum = 0;
  for (let i = 0; i < realised.length; i++) {
    const y = realised[i]!;
    if (Number.isNaN(y)) continue;
    sum += y ** 2 - (y - predicted[i]!) ** 2;
    gains.push(sum);
  }
  return Number.isFinite(sum) ? Float64Array.from(gains) : new Float64Array(0);
}

function sentenceOf({ ticker, metrics: { n, r2_zero }, coverage }: TickerRow): string {
  if (n === 0) return `${ticker} has no realised return yet.`;
  const held =
    coverage === undefined ? "" : `; ${figure(coverage, "coverage")} of returns were in their interval`;
  return `${ticker}: R² against zero ${figure(r2_zero, "r2")} over ${countedRows(n, "row")}${held}.`;
}

function tickersSentence(rows: readonly TickerRow[], { table, coverage }: OutputEvidence): string {
  const judged = rows.filter(({ metrics }) => metrics.r2_zero !== null);
  if (judged.length === 0) return `${countedRows(rows.length, "ticker")}, none with realised returns yet.`;
  const better = judged.filter(({ metrics }) => metrics.r2_zero! > 0).length;
  const covered = rows.flatMap((row) => row.coverage ?? []);
  const range =
    covered.length === 0 || coverage === undefined
      ? ""
      : ` Coverage by ticker ranges from ${figure(Math.min(...covered), "coverage")} to ${figure(Math.max(...covered), "coverage")}.`;
  return `Forecasts beat the zero forecast by R² for ${better} of ${countedRows(judged.length, "ticker")}, with a median R² of ${figure(table.r2_zero_median, "r2")}.${range} Open a ticker to compare its forecasts with its realised returns. The last column sums, over the dates, by how much its squared errors were smaller than those of the zero forecast.`;
}

/** A spark line has this many steps at most, so that a list of many stays small. */
const STEPS = 32;

/** A line without words, with the line of 0: bad if it ends below it. @param values finite; their last one is always drawn. */
function sparkLine(values: Float64Array): Child {
  const last = values.length - 1;
  if (last < 1) return "";
  const steps = Math.min(STEPS, last);
  const shown = Array.from({ length: steps + 1 }, (_, k) => values[Math.round((k * last) / steps)]!);
  const y = axisOf({ unit: "number" }, [0, ...shown]);
  const points = shown.map((value, k): Point => [gridX(k / steps), gridY(y.share(value))]);
  const line = html`<path class="zero" d=${`M0 ${gridY(y.share(0))}H${GRID}`} />
    <path class=${values[last]! < 0 ? "line bad" : "line"} d=${polyline(points)} />`;
  return html`<svg class="spark" aria-hidden="true">${frame(line)}</svg>`;
}

/**
 * Forecasts and intervals of a ticker against realised returns, with the returns outside their interval.
 * @param dates the maximum number of columns: with more dates, each covers several, their returns as a range from 0 and means of everything
 * else.
 */
function marksOf({ days, predicted, realised, lower, upper }: ScoredRows, dates: number): Mark[] {
  const size = Math.max(1, Math.ceil(days.length / dates));
  const [band, ranges, line, misses]: [Point[], Point[], Point[], Point[]] = [[], [], [], []];
  for (let from = 0; from < days.length; from += size) {
    const to = Math.min(days.length, from + size);
    const day = days[from + Math.floor((to - from) / 2)]!;
    const [low, high] = [knownMean(lower, from, to), knownMean(upper, from, to)];
    // With only one end, the band continues to the frame.
    if (!Number.isNaN(low) || !Number.isNaN(high))
      band.push([day, Number.isNaN(high) ? Infinity : high], [day, Number.isNaN(low) ? -Infinity : low]);
    let [least, most, isKnown] = [0, 0, false];
    for (let i = from; i < to; i++) {
      const value = realised[i]!;
      if (Number.isNaN(value)) continue;
      isKnown = true;
      least = Math.min(least, value);
      most = Math.max(most, value);
      if (value < lower[i]! || value > upper[i]!) misses.push([days[i]!, value]);
    }
    if (isKnown) ranges.push([day, most], [day, least]);
    line.push([day, knownMean(predicted, from, to)]);
  }
  return [
    { kind: "band", shape: "area", points: band, meaning: "interval" },
    { kind: "return", shape: "segments", points: ranges, meaning: "realised return" },
    { kind: "dot miss", shape: "dots", points: misses, meaning: "return outside its interval" },
    { kind: "line", shape: "line", points: line, name: "forecast", meaning: "forecast" },
  ];
}

/** The mean of the values that are numbers; NaN without one. */
function knownMean(values: Float64Array, from: number, to: number): number {
  let [sum, known] = [0, 0];
  for (let i = from; i < to; i++) {
    if (Number.isNaN(values[i])) continue;
    sum += values[i]!;
    known++;
  }
  return sum / known;
}
