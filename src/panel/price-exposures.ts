import type { Day } from "../contract/market/dates.ts";
import { MAX_GAP_DAYS, type TickerExposures, type TickerPrices } from "../contract/market/ticker-series.ts";
import { EXPOSURES } from "../contract/output/metrics-schemas.ts";
import { deviationOfLast } from "./labels.ts";
import { priceDates } from "./price-dates.ts";
import type { ResolvedWindow } from "./window.ts";

const BETA_RETURNS = 252;
const VOLATILITY_RETURNS = 63;

/** The price dates over which each return of `EXPOSURES` is taken. */
const SPANS = [5, 21, 252];

/** The equal-weighted mean one-day return of all tickers that have one, by date. */
export type MarketReturns = ReadonlyMap<Day, number>;

/** One-day log-returns with the dates on which they are known, over a ticker's own price dates; none over a long gap. */
function oneDayReturns(days: Int32Array, prices: Float64Array): { known: number[]; returns: number[] } {
  const [known, returns]: [number[], number[]] = [[], []];
  for (let i = 1; i < days.length; i++) {
    if (days[i]! - days[i - 1]! > MAX_GAP_DAYS) continue;
    known.push(days[i]!);
    returns.push(Math.log(prices[i]!) - Math.log(prices[i - 1]!));
  }
  return { known, returns };
}

/** @param prices of all tickers, in ascending order. */
export function marketReturns(
  prices: Iterable<TickerPrices>,
  window: Pick<ResolvedWindow, "start" | "end">,
): MarketReturns {
  const sums = new Map<Day, { sum: number; count: number }>();
  for (const ticker of prices) {
    const priced = priceDates(ticker, window);
    const { known, returns } = oneDayReturns(priced.days, priced.prices);
    for (const [i, day] of known.entries()) {
      const { sum, count } = sums.get(day) ?? { sum: 0, count: 0 };
      sums.set(day, { sum: sum + returns[i]!, count: count + 1 });
    }
  }
  return new Map([...sums].map(([day, { sum, count }]) => [day, sum / count]));
}

/**
 * The exposures of a ticker at its price dates from a day on, each from prices known at the close of the date: the slope of its last 252
 * one-day returns on those of the market, the deviation (ddof 0) of its last 63, and its log-returns over the last 5, 21 and 252 price
 * dates.
 */
export function exposuresFrom(
  first: Day,
  ticker: TickerPrices,
  window: Pick<ResolvedWindow, "start" | "end">,
  market: MarketReturns,
): TickerExposures {
  const { days, prices } = priceDates(ticker, window);
  const { known, returns } = oneDayReturns(days, prices);
  const ofMarket = known.map((day) => market.get(day)!);
  const begin = days.findIndex((day) => day >= first);
  if (begin < 0) return { days: new Int32Array(0), values: new Float64Array(0) };
  const values = new Float64Array((days.length - begin) * EXPOSURES.length);
  for (let i = begin, end = 0, at = 0; i < days.length; i++) {
    while (end < known.length && known[end]! <= days[i]!) end++;
    values[at++] = slopeOfLast(BETA_RETURNS, returns, ofMarket, end);
    values[at++] = deviationOfLast(VOLATILITY_RETURNS, returns, end);
    for (const span of SPANS)
      values[at++] = i < span ? Number.NaN : Math.log(prices[i]!) - Math.log(prices[i - span]!);
  }
  return { days: days.subarray(begin), values };
}

function meanOfLast(count: number, values: readonly number[], end: number): number {
  let sum = 0;
  for (let i = end - count; i < end; i++) sum += values[i]!;
  return sum / count;
}

/** NaN for fewer values, or if the market stands still. */
function slopeOfLast(
  count: number,
  values: readonly number[],
  others: readonly number[],
  end: number,
): number {
  if (end < count) return Number.NaN;
  const [centre, otherCentre] = [meanOfLast(count, values, end), meanOfLast(count, others, end)];
  let [products, squares] = [0, 0];
  for (let i = end - count; i < end; i++) {
    const other = others[i]! - otherCentre;
    products += (values[i]! - centre) * other;
    squares += other * other;
  }
  return squares > 0 ? products / squares : Number.NaN;
}
