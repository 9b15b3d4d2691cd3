import { type Day, formatDay } from "../../contract/market/dates.ts";
import {
  priceSeries,
  type TickerFeatures,
  type TickerPrices,
  type TickerSeries,
} from "../../contract/market/ticker-series.ts";

/** The window that a copy of a data-extraction blob names. */
interface CopiedWindow {
  readonly start: Day;
  readonly end: Day;
  readonly learningEnd: Day;
}

/**
 * The text of a copy of a data-extraction blob, with columns by ticker and separate dates: all values up to `until`, in the same
 * order and bit for bit. Tickers without values are omitted.
 */
export function* cutPricesText(
  window: CopiedWindow,
  until: Day,
  tickers: Iterable<TickerPrices>,
): Generator<string> {
  const bounds = { start: window.start, end: window.end, Learning_end: window.learningEnd };
  for (const [name, day] of Object.entries(bounds))
    yield `${name === "start" ? "{" : ","}"${name}":"${formatDay(day)}"`;
  yield `,"prices":{`;
  let separator = "\n";
  for (const prices of tickers) {
    const n = rowsUpTo(prices.days, until);
    if (n === 0) continue;
    yield `${separator}${tickerText(priceSeries(prices), n)}`;
    separator = ",\n";
  }
  yield "\n}}\n";
}

/** The text of a copy of a feature blob, in the same way; tickers and columns keep their order. */
export async function* cutFeaturesText(
  until: Day,
  tickers: AsyncIterable<TickerFeatures>,
): AsyncGenerator<string> {
  yield `{"features":{`;
  let separator = "\n";
  for await (const features of tickers) {
    const n = rowsUpTo(features.days, until);
    if (n === 0) continue;
    yield `${separator}${tickerText(features, n)}`;
    separator = ",\n";
  }
  yield "\n}}\n";
}

function rowsUpTo(days: Int32Array, until: Day): number {
  const after = days.findIndex((day) => day > until);
  return after < 0 ? days.length : after;
}

function tickerText({ ticker, days, columns, values }: TickerSeries, n: number): string {
  const dates = Array.from(days.subarray(0, n), (day) => `"${formatDay(day)}"`);
  const cells = columns.map((name, c) => {
    const from = c * days.length;
    return `,${JSON.stringify(name)}:[${Array.from(values.subarray(from, from + n), numberText).join(",")}]`;
  });
  return `${JSON.stringify(ticker)}:{"dates":[${dates.join(",")}]${cells.join("")}}`;
}

/** The shortest text that reads back as the same float64. */
function numberText(value: number): string {
  if (Number.isNaN(value)) return "null";
  return Object.is(value, -0) ? "-0" : String(value);
}

/** The dates after which the blobs are cut, and the end of learning in every run. */
export interface CutPlan {
  readonly learningEnd: Day;
  /** Whether the blobs leave no date to forecast after their own cut, so that the audit chooses an earlier one. */
  readonly isChosen: boolean;
  /** Ascending, after `learningEnd` and before the last date. */
  readonly cutAfter: readonly Day[];
}

/** A cut that the audit chooses leaves this share of the dates for learning. */
const LEARNED_SHARE = 0.75;

/**
 * Spreads `truncations` dates evenly over those after the cut.
 * @param dates shape (n), ascending: the price dates of the window.
 * @param learningEnd the blobs' own `Learning_end`.
 * @returns undefined if there are too few dates to cut.
 */
export function planCuts(
  dates: Int32Array,
  learningEnd: Day | undefined,
  truncations: number,
): CutPlan | undefined {
  const own = learningEnd ?? Number.POSITIVE_INFINITY;
  const isChosen = datesBetween(dates, own).length === 0;
  const cut = isChosen ? dates[Math.floor(LEARNED_SHARE * dates.length) - 1] : own;
  if (cut === undefined) return undefined;
  const later = datesBetween(dates, cut);
  if (later.length === 0) return undefined;
  return { learningEnd: cut, isChosen, cutAfter: spread(later, truncations) };
}

/** The dates after `cut` and before the last one: the blobs that end with the last one are the whole blobs. */
function datesBetween(dates: Int32Array, cut: Day): Int32Array {
  return dates.filter((day, i) => day > cut && i < dates.length - 1);
}

function spread(dates: Int32Array, truncations: number): Day[] {
  const n = Math.min(truncations, dates.length);
  return Array.from({ length: n }, (_, i) => dates[Math.floor(((i + 1) * dates.length) / (n + 1))]!);
}
