import type { Day } from "../contract/market/dates.ts";
import { MAX_GAP_DAYS, type TickerExposures, type TickerPrices } from "../contract/market/ticker-series.ts";
import { deviationOfLast } from "./labels.ts";
import { type DateWindow, priceDates } from "./price-dates.ts";
import { countBefore } from "./rows.ts";

const BETA_RETURNS = 252;
const VOLATILITY_RETURNS = 63;

const SPANS = [5, 21, 252];

/** One-day log-returns with the dates on which they are known, over a ticker's own price dates; none over a long gap. */
function oneDayReturns({ days, prices }: { days: Int32Array; prices: Float64Array }) {
  const [known, returns] = [new Int32Array(days.length), new Float64Array(days.length)];
  let n = 0;
  for (let i = 1; i < days.length; i++) {
    if (days[i]! - days[i - 1]! > MAX_GAP_DAYS) continue;
    known[n] = days[i]!;
    returns[n++] = Math.log(prices[i]!) - Math.log(prices[i - 1]!);
  }
  return { known: known.subarray(0, n), returns: returns.subarray(0, n) };
}

/** The equal-weighted mean one-day return of all tickers that have one, by date. @param tickers in ascending order. */
export function marketReturns(tickers: Iterable<TickerPrices>, window: DateWindow) {
  const [sums, counts] = [new Map<Day, number>(), new Map<Day, number>()];
  for (const ticker of tickers) {
    const { known, returns } = oneDayReturns(priceDates(ticker, window));
    for (const [i, day] of known.entries()) {
      sums.set(day, (sums.get(day) ?? 0) + returns[i]!);
      counts.set(day, (counts.get(day) ?? 0) + 1);
    }
  }
  return new Map([...sums].map(([day, sum]) => [day, sum / counts.get(day)!]));
}

/**
 * The exposures of a ticker at its price dates from a day on, each from prices known at the close of the date: the slope of its last 252
 * one-day returns on those of the market, the deviation (ddof 0) of its last 63, and its log-returns over the last 5, 21 and 252 price
 * dates.
 */
export function exposuresFrom(
  first: Day,
  ticker: TickerPrices,
  window: DateWindow,
  market: ReturnType<typeof marketReturns>,
): TickerExposures {
  const { days, prices } = priceDates(ticker, window);
  const { known, returns } = oneDayReturns({ days, prices });
  const ofMarket = Float64Array.from(known, (day) => market.get(day)!);
  const begin = countBefore(days, first);
  const values = Array.from(days.subarray(begin), (day, k) => {
    const end = countBefore(known, day + 1);
    const returnOver = (span: number) => Math.log(prices[begin + k]!) - Math.log(prices[begin + k - span]!);
    return [
      slopeOfLast(BETA_RETURNS, returns, ofMarket, end),
      deviationOfLast(VOLATILITY_RETURNS, returns, end),
      ...SPANS.map((span) => (begin + k < span ? Number.NaN : returnOver(span))),
    ];
  });
  return { days: days.subarray(begin), values: Float64Array.from(values.flat()) };
}

/** The slope of the last values before `end` on others; NaN for fewer values, or if the others stand still. */
function slopeOfLast(count: number, values: Float64Array, others: Float64Array, end: number): number {
  if (end < count) return Number.NaN;
  let [sum, otherSum, products, squares] = [0, 0, 0, 0];
  for (let i = end - count; i < end; i++) {
    sum += values[i]!;
    otherSum += others[i]!;
  }
  for (let i = end - count; i < end; i++) {
    const other = others[i]! - otherSum / count;
    products += (values[i]! - sum / count) * other;
    squares += other * other;
  }
  return squares > 0 ? products / squares : Number.NaN;
}
