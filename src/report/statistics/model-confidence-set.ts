import { mean } from "../../evaluate/statistics.ts";
import { type Resamples, resampledMean } from "./block-bootstrap.ts";

/**
 * The model confidence set (Hansen, Lunde and Nason 2011, "The Model Confidence Set"): the models that remain after those that are
 * worse than another one are removed, the worst first. The test is the range test, the largest t of a difference of two mean losses.
 * The bootstrap gives the variances of differences and the distribution of the largest.
 * @param losses of each model by date: shape (n) each.
 * @param resamples of the n dates.
 * @returns for each model its p: it belongs to the set of confidence 1 - a if p > a. The last remaining model has 1, and so do all
 * remaining models if they are equal.
 */
export function modelConfidenceSet(losses: readonly Float64Array[], resamples: Resamples): number[] {
  const centres = losses.map(mean);
  /** For each draw, the resampled mean loss of each model minus its own mean loss. */
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
    // A later test cannot remove a model that an earlier one kept.
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
