import { deviation, mean } from "../../evaluate/statistics.ts";
import { meanBlockLength, type Resamples } from "./block-bootstrap.ts";

/** The test that some forecast of several beats a benchmark. */
export interface SuperiorAbility {
  /** Which forecast has the largest statistic. */
  readonly best: number;
  /** How often chance gives a largest statistic as large as this one: the consistent p, and its bounds. */
  readonly p: number;
  readonly lower: number;
  readonly upper: number;
}

/**
 * Superior predictive ability (Hansen 2005, "A Test for Superior Predictive Ability"): the largest of sqrt(n) mean(d) / omega over
 * forecasts, held against its distribution under the stationary bootstrap. Forecasts that are worse than the benchmark by more than
 * sqrt(2 log log n) errors do not weigh in the consistent p; the lower p leaves out all that are worse, the upper one none.
 * @param gains of each forecast on the benchmark by date: shape (n) each, in time order. One without a variance does not count.
 * @param resamples of the n dates.
 * @returns undefined where none counts.
 */
export function superiorAbility(
  gains: readonly Float64Array[],
  resamples: Resamples,
  blockLength = meanBlockLength(gains[0]?.length ?? 0),
): SuperiorAbility | undefined {
  const n = gains[0]?.length ?? 0;
  const counted = gains.flatMap((values, index) => {
    const omega = Math.sqrt(longRunVariance(values, blockLength));
    return omega > 0 ? [{ index, values, omega, centre: mean(values) }] : [];
  });
  if (counted.length === 0) return undefined;
  const statistic = ({ centre, omega }: { centre: number; omega: number }) => centre / omega;
  const best = counted.reduce((a, b) => (statistic(b) > statistic(a) ? b : a));
  const largest = statistic(best);
  const threshold = -Math.sqrt((2 * Math.log(Math.log(n))) / n);
  const centres = counted.map((one) => ({
    lower: Math.max(0, one.centre),
    consistent: statistic(one) >= threshold ? one.centre : 0,
    upper: one.centre,
  }));
  const exceeded = { lower: 0, consistent: 0, upper: 0 };
  for (const drawn of resamples) {
    const most = { lower: -Infinity, consistent: -Infinity, upper: -Infinity };
    for (const [k, { values, omega }] of counted.entries()) {
      const average = resampledMean(values, drawn);
      for (const form of FORMS) most[form] = Math.max(most[form], (average - centres[k]![form]) / omega);
    }
    for (const form of FORMS) if (most[form] > largest) exceeded[form]++;
  }
  const draws = resamples.length;
  return {
    best: best.index,
    p: exceeded.consistent / draws,
    lower: exceeded.lower / draws,
    upper: exceeded.upper / draws,
  };
}

const FORMS = ["lower", "consistent", "upper"] as const;

/** n times the variance that the stationary bootstrap gives a mean, without resampling (Politis and Romano 1994, lemma 1). */
function longRunVariance(values: Float64Array, blockLength: number): number {
  const n = values.length;
  if (!(deviation(values) > 0)) return 0;
  const centre = mean(values);
  const kept = 1 - 1 / blockLength;
  let variance = 0;
  for (let j = 0; j < n; j++) {
    const weight = (1 - j / n) * kept ** j + (j / n) * kept ** (n - j);
    // Smaller weights change nothing.
    if (weight < 1e-17) continue;
    let products = 0;
    for (let i = j; i < n; i++) products += (values[i]! - centre) * (values[i - j]! - centre);
    variance += ((j === 0 ? 1 : 2) * weight * products) / n;
  }
  return variance;
}

export function resampledMean(values: Float64Array, drawn: Int32Array): number {
  let sum = 0;
  for (let i = 0; i < drawn.length; i++) sum += values[drawn[i]!]!;
  return sum / drawn.length;
}
