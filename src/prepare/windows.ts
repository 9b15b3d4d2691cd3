/**
 * The last `length` values of a series, once for each place where there are that many.
 * @param first how many values at the start are no part of any window (a return has none before the second price).
 * @returns shape (n): `measure(values, from, to)` of the half-open window that ends with place i, NaN before the
 * first full one. No value depends on anything after its place, nor on anything before its window.
 */
export function rolling(
  values: Float64Array,
  length: number,
  measure: (values: Float64Array, from: number, to: number) => number,
  first = 0,
): Float64Array {
  const out = new Float64Array(values.length).fill(Number.NaN);
  for (let i = first + length - 1; i < values.length; i++) out[i] = measure(values, i - length + 1, i + 1);
  return out;
}

export function mean(values: Float64Array, from: number, to: number): number {
  let sum = 0;
  for (let i = from; i < to; i++) sum += values[i]!;
  return sum / (to - from);
}

/** Standard deviation with ddof 1; exactly 0 where all values are equal. */
export function deviation(values: Float64Array, from: number, to: number): number {
  return Math.sqrt((centralMoment(values, from, to, 2) * (to - from)) / (to - from - 1));
}

/** Mean of the `power`-th powers of the distances from the mean; exactly 0 where all values are equal. */
export function centralMoment(values: Float64Array, from: number, to: number, power: 2 | 3): number {
  if (maximum(values, from, to) === minimum(values, from, to)) return 0;
  const centre = mean(values, from, to);
  let sum = 0;
  for (let i = from; i < to; i++) {
    const distance = values[i]! - centre;
    sum += power === 2 ? distance * distance : distance * distance * distance;
  }
  return sum / (to - from);
}

export function maximum(values: Float64Array, from: number, to: number): number {
  let most = Number.NEGATIVE_INFINITY;
  for (let i = from; i < to; i++) if (values[i]! > most) most = values[i]!;
  return most;
}

export function minimum(values: Float64Array, from: number, to: number): number {
  let least = Number.POSITIVE_INFINITY;
  for (let i = from; i < to; i++) if (values[i]! < least) least = values[i]!;
  return least;
}
