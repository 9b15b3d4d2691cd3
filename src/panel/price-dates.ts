import type { Day } from "../contract/market/dates.ts";
import type { TickerPrices } from "../contract/market/ticker-series.ts";

/** Whether a value is a price: finite and above zero. */
export function isPrice(value: number): boolean {
  return value > 0 && value < Number.POSITIVE_INFINITY;
}

/** A ticker's price dates inside a window, and how many prices were skipped. */
interface PriceDates {
  /** Shape (m), ascending. */
  readonly days: Int32Array;
  /** Shape (m), in currency, all finite and above zero. */
  readonly prices: Float64Array;
  /** The number of finite prices of zero or below, which count as absent. */
  readonly nonpositive: number;
}

/**
 * The ticker's dates in [start, end] that have a price. Missing prices and prices of zero or below both count as absent, so a label spans
 * over them to the next available price.
 */
export function priceDates(
  prices: TickerPrices,
  window: { readonly start: Day; readonly end: Day },
): PriceDates {
  const n = prices.days.length;
  const days = new Int32Array(n);
  const values = new Float64Array(n);
  let kept = 0;
  let nonpositive = 0;
  for (let i = 0; i < n; i++) {
    const day = prices.days[i]!;
    if (day < window.start || day > window.end) continue;
    const price = prices.prices[i]!;
    if (isPrice(price)) {
      days[kept] = day;
      values[kept] = price;
      kept++;
    } else if (price <= 0 && price > Number.NEGATIVE_INFINITY) {
      nonpositive++;
    }
  }
  return { days: days.slice(0, kept), prices: values.slice(0, kept), nonpositive };
}

/** The ticker's last price date in the window, or undefined if it has none. */
export function lastPriceDay(
  prices: TickerPrices,
  window: { readonly start: Day; readonly end: Day },
): Day | undefined {
  for (let i = prices.days.length - 1; i >= 0; i--) {
    const day = prices.days[i]!;
    if (day < window.start) return undefined;
    if (day <= window.end && isPrice(prices.prices[i]!)) return day;
  }
  return undefined;
}
