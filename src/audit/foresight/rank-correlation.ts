import { averageRanks } from "../../evaluate/rank.ts";
import { correlation } from "../../evaluate/statistics.ts";

/** Fewer pairs are not tested. */
export const MIN_PAIRS = 100;

/** A rank correlation over n pairs. */
export type RankCorrelation = { readonly c: number; readonly n: number };

/**
 * Spearman's correlation, ties averaged, over the rows where both sides are finite.
 * @returns undefined for fewer than MIN_PAIRS pairs, and if either side is constant.
 */
export function rankCorrelation(a: Float64Array, b: Float64Array): RankCorrelation | undefined {
  const [u, v] = [new Float64Array(a.length), new Float64Array(a.length)];
  let n = 0;
  for (let i = 0; i < a.length; i++) {
    if (!Number.isFinite(a[i]!) || !Number.isFinite(b[i]!)) continue;
    u[n] = a[i]!;
    v[n++] = b[i]!;
  }
  if (n < MIN_PAIRS) return undefined;
  const c = correlation(averageRanks(u.subarray(0, n)), averageRanks(v.subarray(0, n)));
  return c === null ? undefined : { c, n };
}

/** Ranks of the finite values among themselves, NaN for the others. */
export function finiteRanks(values: Float64Array): Float64Array {
  const ranks = averageRanks(values.filter(Number.isFinite));
  let next = 0;
  return values.map((value) => (Number.isFinite(value) ? ranks[next++]! : Number.NaN));
}

/** Fisher's transform is infinite at 1. */
const MAX_CORRELATION = 1 - 1e-12;

/** How many standard deviations |c| is away from 0 if the pairs are independent (Fisher's transform). */
export function deviationsFromZero({ c, n }: RankCorrelation): number {
  return Math.atanh(Math.min(Math.abs(c), MAX_CORRELATION)) * Math.sqrt(n - 3);
}

/** The share of chance findings in all tests of an audit together, for each half: single tickers and pooled tests. */
export const FAMILY_ERROR = 0.005;

/** The deviations that noise reaches in any of m tests of single tickers only once in two hundred audits (Bonferroni, both sides). */
export function neededDeviations(tests: number): number {
  return upperNormalQuantile(FAMILY_ERROR / 2 / Math.max(1, tests));
}

/** z with P(Z > z) = p, for p from 1e-300 to 0.02: by bisection of a monotonic tail. */
export function upperNormalQuantile(p: number): number {
  let [low, high] = [2, 40];
  for (let halvings = 0; halvings < 60; halvings++) {
    const middle = (low + high) / 2;
    if (upperNormalTail(middle) > p) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
}

/** P(Z > z) for z >= 2: the density over Laplace's continued fraction z + 1 / (z + 2 / (z + 3 / ...)). */
function upperNormalTail(z: number): number {
  let fraction = z;
  for (let k = 200; k > 0; k--) fraction = z + k / fraction;
  return Math.exp(-(z * z) / 2) / Math.sqrt(2 * Math.PI) / fraction;
}
