import { type Day, formatDay } from "../../contract/market/dates.ts";
import {
  priceSeries,
  type TickerFeatures,
  type TickerPrices,
  type TickerSeries,
} from "../../contract/market/ticker-series.ts";

/** The window that a copy of a data-extraction blob names. */
export interface CopiedWindow {
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
