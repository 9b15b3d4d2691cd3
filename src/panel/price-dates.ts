import type { Day } from "../contract/market/dates.ts";
import type { TickerPrices } from "../contract/market/ticker-series.ts";

export interface DateWindow {
  readonly start: Day;
  readonly end: Day;
}

/** Whether a value is a price: finite and above zero. */
export function isPrice(value: number): boolean {
  return value > 0 && value < Number.POSITIVE_INFINITY;
}

/**
 * The ticker's dates in [start, end] that have a price: shape (m) each, ascending. Missing prices and prices of zero or below count as
 * absent, so a label spans over them to the next price; `nonpositive` is the number of the latter.
 */
export function priceDates({ days, prices }: TickerPrices, { start, end }: DateWindow) {
  const isInside = (i: number) => days[i]! >= start && days[i]! <= end;
  const kept = Int32Array.from(days.keys().filter((i) => isInside(i) && isPrice(prices[i]!)));
  const nonpositive = prices.reduce(
    (count, price, i) => (price <= 0 && price > Number.NEGATIVE_INFINITY && isInside(i) ? count + 1 : count),
    0,
  );
  return {
    days: kept.map((i) => days[i]!),
    prices: Float64Array.from(kept, (i) => prices[i]!),
    nonpositive,
  };
}

/** The ticker's last price date in the window; undefined if it has none. */
export function lastPriceDay({ days, prices }: TickerPrices, { start, end }: DateWindow): Day | undefined {
  const last = days.findLastIndex((day, i) => day <= end && isPrice(prices[i]!));
  return last >= 0 && days[last]! >= start ? days[last] : undefined;
}
