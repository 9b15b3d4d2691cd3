import type { TestMethod } from "./metrics-schemas.ts";

/** Values a day apart correlate over about a week. */
export const NEWEY_WEST_LAG = 5;

/** Fewer dates say too little about their own error for a band or a test. */
export const MIN_DATES = 30;

/** Cosine terms of the variance; the degrees of freedom of Student's t. */
export const EWC_TERMS = 8;

/** From this many values on, cosine sums hold their size better than a lag of 5; below, they have too few values a term. */
export const MIN_EWC_VALUES = 60;

export type MeanMethod = Exclude<TestMethod, "student">;

export function meanMethod(n: number): MeanMethod {
  return n >= MIN_EWC_VALUES ? "ewc_8" : "newey_west_5";
}

/**
 * Coefficients of the quantile as a cubic in b, by its probability (Kiefer and Vogelsang 2005, "A New Asymptotic Theory for
 * Heteroskedasticity-Autocorrelation Robust Tests", table 1, Bartlett kernel). The first is the normal quantile.
 */
const FIXED_B = {
  0.95: [1.6449, 2.1859, 0.3142, -0.3427],
  0.975: [1.96, 2.9694, 0.416, -0.5324],
  0.99: [2.3263, 4.1618, 0.5368, -0.906],
} as const;

/** One-sided probabilities with a known quantile: 0.975 is that of a two-sided 95 % band. */
export type FixedBProbability = keyof typeof FIXED_B;

/**
 * The t that chance alone exceeds with probability 1 - `probability`: the quantile of neweyWestT for n values whose mean is 0. The fewer
 * the values, the smaller their Newey-West error; the fixed-b distribution, in which the lag keeps its share b = (lag + 1) / n of the
 * values, allows for that and becomes the normal one as n grows.
 * @param n at least NEWEY_WEST_LAG + 1; the source's fit ends at b = 1.
 */
export function neweyWestQuantile(n: number, probability: FixedBProbability = 0.95): number {
  const b = (NEWEY_WEST_LAG + 1) / n;
  return FIXED_B[probability].reduce((sum, coefficient, power) => sum + coefficient * b ** power, 0);
}

/** The `meanT` of n values that chance alone exceeds with probability 1 - `probability`. @param n at least 6. */
export function meanQuantile(n: number, probability: FixedBProbability = 0.95): number {
  return testQuantile(meanMethod(n), n, probability);
}

/** The same for the t of a recorded test. Outputs of 0.2.0 do not name its method. */
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

/**
 * The quantile of Student's t, to about 1e-12: found by halving, from the finite sums that its distribution is for a whole number of degrees
 * of freedom (Abramowitz and Stegun 1964, 26.7.3 and 26.7.4).
 * @param freedom a whole number, at least 1. @param probability above 0.5 and below 1.
 */
export function studentQuantile(freedom: number, probability: number): number {
  // In angles, since t = sqrt(freedom) tan(angle) has no end.
  let [low, high] = [0, Math.PI / 2];
  for (let i = 0; i < 60; i++) {
    const middle = (low + high) / 2;
    if (inside(middle, freedom) < 2 * probability - 1) low = middle;
    else high = middle;
  }
  return Math.sqrt(freedom) * Math.tan((low + high) / 2);
}

function inside(angle: number, freedom: number): number {
  const [sine, cosine] = [Math.sin(angle), Math.cos(angle)];
  const isOdd = freedom % 2 === 1;
  let term = isOdd ? cosine : 1;
  let sum = freedom === 1 ? 0 : term;
  for (let k = isOdd ? 2 : 1; k <= freedom - 3; k += 2) {
    term *= (k / (k + 1)) * cosine * cosine;
    sum += term;
  }
  return isOdd ? (2 / Math.PI) * (angle + sine * sum) : sine * sum;
}

export interface Band {
  readonly low: number;
  readonly high: number;
}

/**
 * A figure plus and minus the quantile times its error, which is the figure divided by its t.
 * @param quantile of a one-sided test; null if there are too few dates. @returns null without an error.
 */
export function bandFromT(
  figure: number | null | undefined,
  t: number | null | undefined,
  quantile: number | null | undefined,
): Band | null {
  if (figure == null || !t || !Number.isFinite(t) || quantile == null) return null;
  const half = quantile * Math.abs(figure / t);
  return { low: figure - half, high: figure + half };
}
