import type { PooledPlan } from "../../../panel/pooled-plan.ts";
import type { PlannedFit } from "../plan-fits.ts";

/** Adds to each fold of a pooled fit how many rows each of its test dates has, so that features are shuffled among the tickers of a date. */
export function withDateStrata(
  folds: ReadonlyMap<number, PlannedFit>,
  { members, learnRows }: PooledPlan,
): Map<number, PlannedFit> {
  const days = new Int32Array(learnRows);
  for (const { panel, learn, places } of members) {
    for (const [position, row] of learn.entries()) days[places[position]!] = panel.days[row]!;
  }
  return new Map(
    [...folds].map(([fold, fit]) => [fold, { ...fit, strata: runLengths(days.subarray(...fit.predict)) }]),
  );
}

/** The lengths of runs of equal values. */
function runLengths(values: Int32Array): number[] {
  const lengths: number[] = [];
  for (const [i, value] of values.entries()) {
    if (i > 0 && value === values[i - 1]) lengths[lengths.length - 1]!++;
    else lengths.push(1);
  }
  return lengths;
}
