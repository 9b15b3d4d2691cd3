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
  const kept = { days: days.slice(), prices: prices.slice() };
  let [m, nonpositive] = [0, 0];
  for (const [i, day] of days.entries()) {
    const price = prices[i]!;
    if (day < start || day > end) continue;
    if (price <= 0 && Number.isFinite(price)) nonpositive++;
    if (!isPrice(price)) continue;
    kept.days[m] = day;
    kept.prices[m++] = price;
  }
  return { days: kept.days.slice(0, m), prices: kept.prices.slice(0, m), nonpositive };
}

/** The last price date in the window; undefined if there is none. */
export function lastPriceDay({ days, prices }: TickerPrices, { start, end }: DateWindow): Day | undefined {
  const last = days.findLastIndex((day, i) => day <= end && isPrice(prices[i]!));
  return last >= 0 && days[last]! >= start ? days[last] : undefined;
}
