/** Sums of values, over all and over those before a date, from which mean and deviation follow. */
export interface Sums {
  n: number;
  sum: number;
  squares: number;
}

export const noSums = (): Sums => ({ n: 0, sum: 0, squares: 0 });

/** Adds the finite values of [from, to). */
export function addValues(sums: Sums, values: Float64Array, from = 0, to = values.length): void {
  for (let i = from; i < to; i++) {
    const value = values[i]!;
    if (!Number.isFinite(value)) continue;
    sums.n++;
    sums.sum += value;
    sums.squares += value * value;
  }
}

/** Values with at least 6 decimals keep mean and deviation as exactly. Chance comes as close once in 10^9 features. */
const TOLERANCE = 1e-6;

/** Features with few distinct values, such as signs, may have mean 0 and deviation 1 by themselves. */
const MIN_DISTINCT = 10;

const MIN_VALUES = 100;

/** Whether values have mean 0 and deviation 1 (ddof 0 or 1). */
export function isStandard({ n, sum, squares }: Sums): boolean {
  if (n < MIN_VALUES) return false;
  const mean = sum / n;
  const variance = squares / n - mean * mean;
  const deviations = [Math.sqrt(variance), Math.sqrt((variance * n) / (n - 1))];
  return Math.abs(mean) <= TOLERANCE && deviations.some((one) => Math.abs(one - 1) <= TOLERANCE);
}

/** How close to 0 and 1 the ends of a scaled column are: exact up to the last digits. */
const ENDS_TOLERANCE = 1e-9;

/** Ends to which columns are scaled. */
const SCALES = [
  [0, 1],
  [-1, 1],
  [0, 100],
] as const;

/**
 * Whether values were scaled by the minimum and maximum of the whole sample: each end of a usual scale occurs exactly once, and not
 * both in the first half. Oscillators and ranks reach their ends again and again.
 */
export function isScaledByEnds(values: Float64Array): boolean {
  let [n, low, high] = [0, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const value of values) {
    if (!Number.isFinite(value)) continue;
    n++;
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  if (n < MIN_VALUES) return false;
  const isEnd = (value: number, end: number) =>
    Math.abs(value - end) <= ENDS_TOLERANCE * Math.max(1, Math.abs(end));
  if (!SCALES.some(([from, to]) => isEnd(low, from) && isEnd(high, to))) return false;
  const half = Math.floor(values.length / 2);
  const places = (end: number) => [...values.keys()].filter((i) => values[i] === end);
  const [lows, highs] = [places(low), places(high)];
  return lows.length === 1 && highs.length === 1 && Math.max(lows[0]!, highs[0]!) >= half;
}

/**
 * Whether values are standardised over the whole sample but not before its end, so that later values moved the earlier ones. A score
 * across tickers on each date is standardised over every part, and does not count.
 */
export function isStandardAtEndOnly(whole: Sums, firstPart: Sums): boolean {
  return isStandard(whole) && !isStandard(firstPart);
}

export function hasManyValues(values: Float64Array): boolean {
  const distinct = new Set<number>();
  for (const value of values) {
    if (Number.isFinite(value)) distinct.add(value);
    if (distinct.size >= MIN_DISTINCT) return true;
  }
  return false;
}
