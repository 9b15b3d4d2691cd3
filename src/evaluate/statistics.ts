/**
 * Sums behind the metrics. Each follows the order of its input, so equal inputs give equal bytes. None loses digits to cancellation, or
 * leaves the range of a float64 if the result is inside it.
 */

/** Arithmetic mean; NaN for no values. */
export function mean(values: Float64Array): number {
  let sum = 0;
  for (let i = 0; i < values.length; i++) sum += values[i]!;
  return sum / values.length;
}

/** Root of the mean square; NaN for no values. */
export function rootMeanSquare(values: Float64Array): number {
  if (values.length === 0) return Number.NaN;
  const scale = largestMagnitude(values);
  if (scale === 0) return 0;
  let sum = 0;
  for (let i = 0; i < values.length; i++) sum += (values[i]! / scale) ** 2;
  return scale * Math.sqrt(sum / values.length);
}

/**
 * Values minus their mean. The mean of the differences is subtracted again: for values that differ only in their last digits, the rounding
 * of the first mean is as large as the differences.
 */
function centred(values: Float64Array): Float64Array {
  // Loops, because `map` of a typed array takes several times as long.
  const differences = new Float64Array(values.length);
  const centre = mean(values);
  for (let i = 0; i < values.length; i++) differences[i] = values[i]! - centre;
  const rest = mean(differences);
  for (let i = 0; i < differences.length; i++) differences[i]! -= rest;
  return differences;
}

/** Whether all values are the same number: the only test of "constant" for predictions, labels and ranks. */
export function isConstant(values: Float64Array): boolean {
  const first = values[0];
  for (let i = 0; i < values.length; i++) if (values[i] !== first) return false;
  return true;
}

/**
 * Pearson correlation of two sides of equal length.
 * @returns null if either side is constant or has fewer than two values, else a number in [-1, 1].
 */
export function correlation(a: Float64Array, b: Float64Array): number | null {
  if (isConstant(a) || isConstant(b)) return null;
  const [p, q] = [centred(a), centred(b)];
  const [pScale, qScale] = [largestMagnitude(p), largestMagnitude(q)];
  let [products, pSquares, qSquares] = [0, 0, 0];
  for (let i = 0; i < p.length; i++) {
    const [x, y] = [p[i]! / pScale, q[i]! / qScale];
    products += x * y;
    pSquares += x * x;
    qSquares += y * y;
  }
  return finiteOrNull(Math.max(-1, Math.min(1, products / Math.sqrt(pSquares * qSquares))));
}

/** Sample standard deviation (ddof 1); NaN for fewer than two values. */
export function sampleDeviation(values: Float64Array): number {
  const n = values.length;
  return rootMeanSquare(centred(values)) * Math.sqrt(n / (n - 1));
}

/** Standard deviation (ddof 0); NaN for no values. */
export function deviation(values: Float64Array): number {
  return rootMeanSquare(centred(values));
}

/** The middle value, or the mean of the two middle ones; null for no values. */
export function median(values: Float64Array): number | null {
  if (values.length === 0) return null;
  const sorted = values.slice().sort();
  const half = Math.floor(sorted.length / 2);
  const upper = sorted[half]!;
  return sorted.length % 2 === 1 ? upper : finiteOrNull(sorted[half - 1]! / 2 + upper / 2);
}

/** The value in a table for a number that does not exist, or that a float64 cannot hold. */
export function finiteOrNull(value: number | null): number | null {
  return Number.isFinite(value) ? value : null;
}

/** Largest absolute value, 0 for no values. */
export function largestMagnitude(values: Float64Array): number {
  let largest = 0;
  for (let i = 0; i < values.length; i++) largest = Math.max(largest, Math.abs(values[i]!));
  return largest;
}
