import { atOnce, type Pausable } from "../contract/machine/pausable.ts";

/**
 * Sums behind the metrics. Each runs over its input in the order given, so equal inputs give equal bytes, and none
 * loses digits to cancellation or exceeds the range of a float64 on the way to a result that is inside it.
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
 * Values less their mean. The mean of the differences is taken off again: for values that differ in their last
 * digits only, the rounding of the first mean is as large as the differences.
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

/** Whether all values are the same number: the one test of "constant" for predictions, labels and ranks alike. */
export function isConstant(values: Float64Array): boolean {
  return values.every((value) => value === values[0]);
}

/**
 * Pearson correlation of two sides of equal length.
 * @returns null where either side is constant or has fewer than two values, else a number in [-1, 1].
 */
export function correlation(a: Float64Array, b: Float64Array): number | null {
  return atOnce(correlationInSteps(a, b));
}

/** As `correlation`, for sides of millions of values. */
export function* correlationInSteps(a: Float64Array, b: Float64Array): Pausable<number | null> {
  if (isConstant(a) || isConstant(b)) return null;
  const da = yield* unitCentred(a);
  const db = yield* unitCentred(b);
  let ab = 0;
  let aa = 0;
  let bb = 0;
  for (let i = 0; i < da.length; i++) {
    ab += da[i]! * db[i]!;
    aa += da[i]! * da[i]!;
    bb += db[i]! * db[i]!;
  }
  return finiteOrNull(Math.max(-1, Math.min(1, ab / Math.sqrt(aa * bb))));
}

function* unitCentred(values: Float64Array): Pausable<Float64Array> {
  yield 0;
  const differences = centred(values);
  yield 0;
  return unitScaled(differences);
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

/** What a table shows for a number that does not exist, or that a float64 cannot hold. */
export function finiteOrNull(value: number): number | null {
  return Number.isFinite(value) ? value : null;
}

/** Largest absolute value, 0 for no values. */
export function largestMagnitude(values: Float64Array): number {
  let largest = 0;
  for (let i = 0; i < values.length; i++) largest = Math.max(largest, Math.abs(values[i]!));
  return largest;
}

function unitScaled(values: Float64Array): Float64Array {
  const scale = largestMagnitude(values);
  const scaled = new Float64Array(values.length);
  for (let i = 0; i < values.length; i++) scaled[i] = values[i]! / scale;
  return scaled;
}
