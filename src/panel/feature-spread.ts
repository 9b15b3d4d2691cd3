import type { TickerPanel } from "./ticker-panel.ts";

/** A feature whose values differ by at most this share of the largest is constant up to rounding. */
const ROUNDING = 10 * Number.EPSILON;

/** A larger ratio may be beyond a float64, and a message would have to call it infinite. */
const MAX_SPREAD = 1e300;

/**
 * The ratio of the largest to the smallest standard deviation of a ticker's features over its fit rows. Constant features do not count.
 * @returns 1 to MAX_SPREAD; 1 if fewer than two features vary.
 */
export function featureSpread({ columns, x, fit }: Pick<TickerPanel, "columns" | "x" | "fit">): number {
  const deviations = columns
    .map((_, column) => deviation(Float64Array.from(fit, (row) => x[row * columns.length + column]!)))
    .filter((one) => one > 0);
  if (deviations.length < 2) return 1;
  return Math.min(Math.max(...deviations) / Math.min(...deviations), MAX_SPREAD);
}

/** Standard deviation (ddof 0) of values from the whole range of a float64; 0 if they are constant up to rounding. */
function deviation(values: Float64Array): number {
  const largest = values.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
  if (largest === 0) return 0;
  const scaled = values.map((value) => value / largest);
  const low = scaled.reduce((a, b) => Math.min(a, b));
  const high = scaled.reduce((a, b) => Math.max(a, b));
  if (high - low <= ROUNDING) return 0;
  const mean = scaled.reduce((a, b) => a + b) / values.length;
  return largest * Math.sqrt(scaled.reduce((sum, value) => sum + (value - mean) ** 2, 0) / values.length);
}
