import { finiteOrNull } from "./statistics.ts";

/** An estimate and its precision, 1 / error²; a weight of 0 means that the error is unknown. */
export interface Weighted {
  readonly value: number;
  readonly weight: number;
}

/** The variance of the true values between estimates, by the moments of DerSimonian and Laird (1986, "Meta-analysis in clinical trials"). */
export function varianceBetween(estimates: readonly Weighted[]): number {
  const known = estimates.filter(({ weight }) => weight > 0);
  const sum = (of: (estimate: Weighted) => number) =>
    known.reduce((total, estimate) => total + of(estimate), 0);
  const weights = sum(({ weight }) => weight);
  const centre = sum(({ value, weight }) => value * weight) / weights;
  const spread = sum(({ value, weight }) => weight * (value - centre) ** 2);
  const variance = (spread - (known.length - 1)) / (weights - sum(({ weight }) => weight ** 2) / weights);
  return Math.max(0, finiteOrNull(variance) ?? 0);
}
