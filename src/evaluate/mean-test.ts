import type { TestMethod } from "../contract/output/test-method.ts";
import { type FixedBProbability, MIN_DATES, neweyWestError, neweyWestQuantile } from "./newey-west.ts";
import { deviation, finiteOrNull, largestMagnitude, mean } from "./statistics.ts";
import { studentQuantile } from "./student.ts";

/** Cosine terms of the variance; the degrees of freedom of Student's t. */
export const EWC_TERMS = 8;

/** From this many values on, cosine sums hold their size better than a lag of 5; below, they have too few values a term. */
export const MIN_EWC_VALUES = 60;

/** How the error of a mean over dates is estimated. */
export type MeanMethod = Exclude<TestMethod, "student">;

export function meanMethod(n: number): MeanMethod {
  return n >= MIN_EWC_VALUES ? "ewc_8" : "newey_west_5";
}

/**
 * Standard error of the mean of values that correlate over time. From MIN_EWC_VALUES values on, the equal-weighted cosine estimate of the
 * long-run variance, which follows slow movements (Lazarus, Lewis, Stock and Watson 2018, "HAR Inference: Recommendations for
 * Practice"): the mean over j = 1..8 of (sqrt(2 / n) sum_d cos(pi j (d - 1/2) / n) x_d)². With fewer values, Newey-West with lag 5.
 * @param values in time order, a step apart.
 * @returns null for fewer than two values, and if the variance is 0.
 */
export function meanError(values: Float64Array): number | null {
  const n = values.length;
  if (meanMethod(n) === "newey_west_5") return neweyWestError(values);
  // Cosine sums of a constant are 0 only up to rounding, so the mean goes first.
  const centre = mean(values);
  let squares = 0;
  for (let j = 1; j <= EWC_TERMS; j++) {
    let sum = 0;
    for (let d = 0; d < n; d++) sum += Math.cos((Math.PI * j * (d + 0.5)) / n) * (values[d]! - centre);
    squares += sum * sum;
  }
  const variance = ((2 / n) * squares) / EWC_TERMS;
  return variance > 0 ? Math.sqrt(variance / n) : null;
}

/** The mean divided by its error. @returns null where `meanError` is. */
export function meanT(values: Float64Array): number | null {
  const error = meanError(values);
  return error === null ? null : finiteOrNull(mean(values) / error);
}

/** The `meanT` of n values that chance alone exceeds with probability 1 - `probability`. @param n at least 6. */
export function meanQuantile(n: number, probability: FixedBProbability = 0.95): number {
  return testQuantile(meanMethod(n), n, probability);
}

/** The same for the t of a recorded test. @param method of the test; outputs of 0.2.0 do not name it. */
export function testQuantile(
  method: TestMethod = "newey_west_5",
  n: number,
  probability: FixedBProbability,
): number {
  switch (method) {
    case "ewc_8":
      return studentQuantile(EWC_TERMS, probability);
    case "newey_west_5":
      return neweyWestQuantile(n, probability);
    case "student":
      return studentQuantile(n - 1, probability);
  }
}

/** The same, or null with fewer than MIN_DATES dates. */
export function datesQuantile(
  method: TestMethod | undefined,
  dates: number,
  probability: FixedBProbability,
): number | null {
  return dates < MIN_DATES ? null : testQuantile(method, dates, probability);
}

/** Values whose deviation is below this share of the largest one differ by rounding alone. */
const ROUNDING = 1e-12;

/** The mean of values over dates with its t; null without a value, and without a t for equal values. */
export function meanWithT(values: Float64Array): { readonly mean: number | null; readonly t: number | null } {
  const differ = deviation(values) > ROUNDING * largestMagnitude(values);
  return { mean: finiteOrNull(mean(values)), t: differ ? meanT(values) : null };
}
