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
  const values = new Float64Array(fit.length);
  const deviations = columns
    .map((_, column) => {
      for (let i = 0; i < fit.length; i++) values[i] = x[fit[i]! * columns.length + column]!;
      return deviation(values);
    })
    .filter((one) => one > 0);
  if (deviations.length < 2) return 1;
  const least = deviations.reduce((a, b) => Math.min(a, b));
  const most = deviations.reduce((a, b) => Math.max(a, b));
  return Math.min(most / least, MAX_SPREAD);
}

/**
 * Standard deviation (ddof 0) of values from the whole range of a float64; 0 if they are constant up to rounding. Scales the values in
 * place, because every feature of every ticker of a job comes here.
 */
function deviation(values: Float64Array): number {
  const n = values.length;
  let largest = 0;
  for (let i = 0; i < n; i++) largest = Math.max(largest, Math.abs(values[i]!));
  if (largest === 0) return 0;
  let [sum, low, high] = [0, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (let i = 0; i < n; i++) {
    const scaled = values[i]! / largest;
    values[i] = scaled;
    sum += scaled;
    low = Math.min(low, scaled);
    high = Math.max(high, scaled);
  }
  if (high - low <= ROUNDING) return 0;
  const mean = sum / n;
  let squares = 0;
  for (let i = 0; i < n; i++) squares += (values[i]! - mean) ** 2;
  return largest * Math.sqrt(squares / n);
}
