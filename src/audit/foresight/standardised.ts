/** Sums of values, whole and of those before a date, from which mean and deviation follow. */
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

/** Values written with 6 decimals and more keep mean and deviation as exactly. Chance comes as near once in 10^9 features. */
const TOLERANCE = 1e-6;

/** Features of a few values, such as signs, may have mean 0 and deviation 1 by themselves. */
const LEAST_DISTINCT = 10;

const LEAST_VALUES = 100;

/** Whether values have mean 0 and deviation 1 (ddof 0 or 1). */
export function isStandard({ n, sum, squares }: Sums): boolean {
  if (n < LEAST_VALUES) return false;
  const mean = sum / n;
  const variance = squares / n - mean * mean;
  const deviations = [Math.sqrt(variance), Math.sqrt((variance * n) / (n - 1))];
  return Math.abs(mean) <= TOLERANCE && deviations.some((one) => Math.abs(one - 1) <= TOLERANCE);
}

/**
 * Whether values are standard over the whole sample and were not before its end: the later ones moved the earlier ones.
 * A score across tickers on each date is standard over every part, and is none.
 */
export function isStandardAtEndOnly(whole: Sums, firstPart: Sums): boolean {
  return isStandard(whole) && !isStandard(firstPart);
}

export function hasManyValues(values: Float64Array): boolean {
  const distinct = new Set<number>();
  for (const value of values) {
    if (Number.isFinite(value)) distinct.add(value);
    if (distinct.size >= LEAST_DISTINCT) return true;
  }
  return false;
}
