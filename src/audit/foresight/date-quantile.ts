import { NEWEY_WEST_LAG } from "../../evaluate/newey-west.ts";
import { upperNormalQuantile } from "./significance.ts";

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
