import type { TickerPanel } from "./ticker-panel.ts";

/** A feature whose values differ by no more, against the largest of them, is constant but for rounding. */
const ROUNDING = 10 * Number.EPSILON;

/** A ratio beyond it may be beyond a float64, and a message would have to call it infinite. */
const MOST = 1e300;

/**
 * How many times the largest standard deviation of a ticker's features over its fit rows is the smallest one. Constant
 * features do not count.
 * @returns 1 to MOST; 1 where fewer than two features vary.
 */
export function featureSpread({ columns, x, fit }: Pick<TickerPanel, "columns" | "x" | "fit">): number {
  const deviations = columns
    .map((_, column) => deviation(Float64Array.from(fit, (row) => x[row * columns.length + column]!)))
    .filter((one) => one > 0);
  if (deviations.length < 2) return 1;
  const least = deviations.reduce((a, b) => Math.min(a, b));
  const most = deviations.reduce((a, b) => Math.max(a, b));
  return Math.min(most / least, MOST);
}

/** Standard deviation (ddof 0) of values from the whole range of a float64; 0 where they are constant but for rounding. */
function deviation(values: Float64Array): number {
  const largest = values.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
  if (largest === 0) return 0;
  const scaled = values.map((value) => value / largest);
  const mean = scaled.reduce((sum, value) => sum + value, 0) / scaled.length;
  const squares = scaled.reduce((sum, value) => sum + (value - mean) ** 2, 0);
  const range = scaled.reduce((a, b) => Math.max(a, b)) - scaled.reduce((a, b) => Math.min(a, b));
  return range <= ROUNDING ? 0 : largest * Math.sqrt(squares / scaled.length);
}
