import { type Day, formatDay } from "../../contract/market/dates.ts";
import {
  priceSeries,
  type TickerFeatures,
  type TickerPrices,
  type TickerSeries,
} from "../../contract/market/ticker-series.ts";

/** The window that a copy of a data-extraction blob names. */
type CopiedWindow = Readonly<Record<"start" | "end" | "learningEnd", Day>>;

/**
 * The text of a copy of a data-extraction blob, with columns by ticker and separate dates: all values up to `until`, in the same
 * order and bit for bit. Tickers without values are omitted.
 */
export function cutPricesText(window: CopiedWindow, until: Day, tickers: Iterable<TickerPrices>) {
  const [start, end, learningEnd] = [window.start, window.end, window.learningEnd].map(formatDay);
  const head = `{"start":"${start}","end":"${end}","Learning_end":"${learningEnd}","prices":{`;
  return blobText(head, until, Iterator.from(tickers).map(priceSeries));
}

/** The text of a copy of a feature blob, in the same way; tickers and columns keep their order. */
export function cutFeaturesText(until: Day, tickers: AsyncIterable<TickerFeatures>) {
  return blobText(`{"features":{`, until, tickers);
}

async function* blobText(
  head: string,
  until: Day,
  tickers: Iterable<TickerSeries> | AsyncIterable<TickerSeries>,
) {
  yield head;
  let separator = "\n";
  for await (const series of tickers) {
    const text = tickerText(series, until);
    if (text === undefined) continue;
    yield separator + text;
    separator = ",\n";
  }
  yield "\n}}\n";
}

/** @returns undefined for a ticker without values up to `until`. */
function tickerText({ ticker, days, columns, values }: TickerSeries, until: Day): string | undefined {
  const after = days.findIndex((day) => day > until);
  const n = after < 0 ? days.length : after;
  if (n === 0) return undefined;
  // The shortest text that reads back as the same float64.
  const numberText = (value: number) =>
    Number.isNaN(value) ? "null" : Object.is(value, -0) ? "-0" : String(value);
  const dates = Array.from(days.subarray(0, n), (day) => `"${formatDay(day)}"`);
  const cells = columns.map((name, c) => {
    const from = c * days.length;
    return `,${JSON.stringify(name)}:[${Array.from(values.subarray(from, from + n), numberText).join(",")}]`;
  });
  return `${JSON.stringify(ticker)}:{"dates":[${dates.join(",")}]${cells.join("")}}`;
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
  // The blobs that end with the last date are the whole blobs.
  const datesAfter = (cut: Day) => dates.slice(0, -1).filter((day) => day > cut);
  const own = learningEnd ?? Number.POSITIVE_INFINITY;
  const isChosen = datesAfter(own).length === 0;
  const cut = isChosen ? dates[Math.floor(LEARNED_SHARE * dates.length) - 1] : own;
  const later = datesAfter(cut ?? Number.POSITIVE_INFINITY);
  if (cut === undefined || later.length === 0) return undefined;
  const n = Math.min(truncations, later.length);
  const cutAfter = Array.from(
    { length: n },
    (_, i) => later[Math.floor(((i + 1) * later.length) / (n + 1))]!,
  );
  return { learningEnd: cut, isChosen, cutAfter };
}
