import { neweyWestError } from "../../evaluate/newey-west.ts";
import { deviation, mean } from "../../evaluate/statistics.ts";
import { type Resamples, resampledMean } from "./block-bootstrap.ts";

/** The test that some forecast of several beats a benchmark. */
export interface SuperiorAbility {
  /** The forecast with the largest statistic. */
  readonly best: number;
  /** How often chance gives a statistic at least as large: the consistent p, and its bounds. */
  readonly p: number;
  readonly lower: number;
  readonly upper: number;
}

/** The error of a mean gain, and its value in a draw. */
interface Studentised {
  readonly error: number;
  readonly ofDraw: (drawn: Int32Array) => { readonly average: number; readonly error: number };
}

export type Studentise = (gains: Float64Array) => Studentised;

/**
 * Each draw has the Newey-West error of its own values, which reflects the uncertainty of few dates (Gonçalves and Vogelsang 2011).
 */
const byDraw: Studentise = (gains) => ({
  error: neweyWestError(gains) ?? 0,
  ofDraw: (drawn) => resampledMean(gains, drawn),
});

/**
 * As in Hansen: all draws share one error, the stationary bootstrap's. Over few dates, chance passes this test far too often.
 */
export function bySample(blockLength: number): Studentise {
  return (gains) => {
    const error = Math.sqrt(longRunVariance(gains, blockLength) / gains.length);
    return { error, ofDraw: (drawn) => ({ average: resampledMean(gains, drawn).average, error }) };
  };
}

/**
 * Superior predictive ability (Hansen 2005, "A Test for Superior Predictive Ability"): the largest t of a mean gain over forecasts,
 * compared with its distribution under the stationary bootstrap. Forecasts that are worse than the benchmark by more than sqrt(2 log
 * log n) errors have no weight in the consistent p; the lower p omits all worse forecasts, the upper p none.
 * @param gains of each forecast on the benchmark by date: shape (n) each, in time order. A forecast without a variance does not
 * count.
 * @param resamples of the n dates.
 * @returns undefined if none counts.
 */
export function superiorAbility(
  gains: readonly Float64Array[],
  resamples: Resamples,
  studentise: Studentise = byDraw,
): SuperiorAbility | undefined {
  const counted = gains.flatMap((values, index) => {
    const studentised = studentise(values);
    const centre = mean(values);
    return studentised.error > 0 ? [{ index, centre, t: centre / studentised.error, ...studentised }] : [];
  });
  if (counted.length === 0) return undefined;
  const best = counted.reduce((a, b) => (b.t > a.t ? b : a));
  const threshold = -Math.sqrt(2 * Math.log(Math.log(gains[0]!.length)));
  const centres = counted.map(({ centre, t }) => ({
    lower: Math.max(0, centre),
    consistent: t >= threshold ? centre : 0,
    upper: centre,
  }));
  const exceeded = { lower: 0, consistent: 0, upper: 0 };
  for (const drawn of resamples) {
    const most = { lower: -Infinity, consistent: -Infinity, upper: -Infinity };
    for (const [k, { ofDraw }] of counted.entries()) {
      const { average, error } = ofDraw(drawn);
      if (!(error > 0)) continue;
      for (const form of FORMS) most[form] = Math.max(most[form], (average - centres[k]![form]) / error);
    }
    for (const form of FORMS) if (most[form] > best.t) exceeded[form]++;
  }
  const share = (form: (typeof FORMS)[number]) => exceeded[form] / resamples.length;
  return { best: best.index, p: share("consistent"), lower: share("lower"), upper: share("upper") };
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
    // Smaller weights have no effect.
    if (weight < 1e-17) continue;
    let products = 0;
    for (let i = j; i < n; i++) products += (values[i]! - centre) * (values[i - j]! - centre);
    variance += ((j === 0 ? 1 : 2) * weight * products) / n;
  }
  return variance;
}
