import { NEWEY_WEST_LAG } from "../../../evaluate/newey-west.ts";
import { upperNormalQuantile } from "../significance.ts";

/** What is compared with the next return: a feature's value, its change since the previous row, or its absence. */
export type PooledSide = "value" | "change" | "missing";

/**
 * How it is compared: the mean product over time; the correlation across the tickers of a date; the share of dates whose order is
 * nearly that of the next returns; or, for missing values, the difference of the next returns and of their sizes.
 */
export type PooledForm = "over_time" | "across_tickers" | "ordered_dates" | "next_return" | "next_size";

/** One test of one feature over all tickers, with dates as units. */
export interface PooledTest {
  readonly side: PooledSide;
  readonly form: PooledForm;
  /** The mean over dates: a correlation, a share of dates, or a difference in deviations. */
  readonly c: number;
  /** Newey-West t over dates; for `ordered_dates` the deviations of a sign test. */
  readonly t: number;
  readonly dates: number;
  /** The maximum |c| of an honest feature. */
  readonly limit: number;
}

/** An honest feature at its limit is found in one of a hundred tests. */
const LIMIT_PROBABILITY = 0.01;

/**
 * Whether a test shows more than chance and more than an honest feature: the t exceeds the quantile of `p`, and |c| exceeds its limit
 * by the errors that chance exceeds with LIMIT_PROBABILITY.
 * @param p one-sided probability of chance, for each of all tests together.
 */
export function isBeyondLimit({ c, t, dates, limit }: PooledTest, p: number): boolean {
  if (Math.abs(t) <= dateQuantile(dates, p)) return false;
  const error = Number.isFinite(t) ? Math.abs(c / t) : 0;
  return Math.abs(c) - limit > dateQuantile(dates, LIMIT_PROBABILITY) * error;
}

/**
 * The t over dates that chance alone exceeds with probability p, for probabilities far below those of `neweyWestQuantile`: Student's
 * quantile with the equivalent degrees of freedom of Bartlett's kernel, 3 / (2 b), since the error's variance has a relative variance
 * of 4 b / 3; divided by sqrt(1 - b) for the variance lost to centring; b = (lag + 1) / n. Student's quantile is computed from the
 * normal one by Wallace's formula (1959, "Bounds on normal approximations to Student's and the chi-square distributions").
 * @param n dates, at least 30. @param p one-sided, at most 0.02.
 */
export function dateQuantile(n: number, p: number): number {
  const b = (NEWEY_WEST_LAG + 1) / n;
  const freedom = 3 / (2 * b);
  const z = (upperNormalQuantile(p) * (8 * freedom + 3)) / (8 * freedom + 1);
  return Math.sqrt((freedom * Math.expm1((z * z) / freedom)) / (1 - b));
}
