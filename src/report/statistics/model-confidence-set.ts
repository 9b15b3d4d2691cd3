import { mean } from "../../evaluate/statistics.ts";
import { type Resamples, resampledMean } from "./block-bootstrap.ts";

/**
 * The model confidence set (Hansen, Lunde and Nason 2011, "The Model Confidence Set"): the models left once those that are worse than
 * another one have been taken out, the worst first. The test is that of the range, the largest t of a difference of two mean losses; the
 * variances of differences, and the distribution of the largest, are those of the bootstrap.
 * @param losses of each model by date: shape (n) each.
 * @param resamples of the n dates.
 * @returns of each model its p: it belongs to the set of confidence 1 - a where p > a. The last model left has 1, as have all that are left
 *   where these are equal.
 */
export function modelConfidenceSet(losses: readonly Float64Array[], resamples: Resamples): number[] {
  const centres = losses.map(mean);
  /** Of each draw the resampled mean loss of each model less its own mean loss. */
  const draws = resamples.map((drawn) =>
    losses.map((values, k) => resampledMean(values, drawn).average - centres[k]!),
  );
  const error = losses.map((_, a) =>
    losses.map((_, b) =>
      Math.sqrt(draws.reduce((sum, draw) => sum + (draw[a]! - draw[b]!) ** 2, 0) / draws.length),
    ),
  );
  const t = (difference: number, a: number, b: number) =>
    error[a]![b]! > 0 ? difference / error[a]![b]! : 0;
  const p = losses.map(() => 1);
  const left = new Set(losses.keys());
  for (let before = 0; left.size > 1; ) {
    const { statistic, worst } = largestDifference(left, (a, b) => t(centres[a]! - centres[b]!, a, b));
    if (!(statistic > 0)) break;
    let exceeded = 0;
    for (const draw of draws) {
      if (largestDifference(left, (a, b) => t(draw[a]! - draw[b]!, a, b)).statistic > statistic) exceeded++;
    }
    // A later test cannot take out what an earlier one let stay.
    before = Math.max(before, exceeded / draws.length);
    p[worst] = before;
    left.delete(worst);
  }
  return p;
}

function largestDifference(
  models: ReadonlySet<number>,
  of: (a: number, b: number) => number,
): { statistic: number; worst: number } {
  let [statistic, worst] = [Number.NEGATIVE_INFINITY, -1];
  for (const a of models) {
    for (const b of models) {
      if (a === b) continue;
      const difference = of(a, b);
      if (difference > statistic) [statistic, worst] = [difference, a];
    }
  }
  return { statistic, worst };
}
