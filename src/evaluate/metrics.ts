import { atOnce, type Pausable } from "../contract/machine/pausable.ts";
import type { Metrics } from "../contract/output/output-blob.ts";
import { correlationInSteps, finiteOrNull, mean, rootMeanSquare } from "./statistics.ts";

/** Labelled rows of one ticker, of one fold or of all tickers, as parallel arrays of shape (n). */
interface LabelledForecasts {
  readonly predicted: Float64Array;
  /** All finite. */
  readonly realised: Float64Array;
  /** Each row's own training mean, so pooled rows keep their ticker's. */
  readonly trainingMean: Float64Array;
}

/**
 * Metrics over the rows given; sums run in their order. What is undefined on them is null: everything for no rows,
 * a hit rate without a signed pair, an r2 whose benchmark makes no error, a correlation with a constant.
 */
export function metrics(rows: LabelledForecasts): Metrics {
  return atOnce(metricsInSteps(rows));
}

/** As `metrics`, for the rows of all tickers. */
export function* metricsInSteps({ predicted, realised, trainingMean }: LabelledForecasts): Pausable<Metrics> {
  const n = realised.length;
  if (n === 0) {
    const signs = { hit_rate: null, up_share: null, hit_rate_se: null };
    return { n, rmse: null, mae: null, ...signs, r2_zero: null, r2_mean: null, correlation: null };
  }
  const errors = realised.map((y, i) => y - predicted[i]!);
  yield 0;
  const rmse = rootMeanSquare(errors);
  yield 0;
  const mae = finiteOrNull(mean(errors.map(Math.abs)));
  yield 0;
  const signs = signAgreement(realised, predicted);
  yield 0;
  const r2_zero = skill(rmse, rootMeanSquare(realised));
  yield 0;
  const misses = realised.map((y, i) => y - trainingMean[i]!);
  yield 0;
  const r2_mean = skill(rmse, rootMeanSquare(misses));
  yield 0;
  return {
    n,
    rmse: finiteOrNull(rmse),
    mae,
    ...signs,
    r2_zero,
    r2_mean,
    correlation: yield* correlationInSteps(realised, predicted),
  };
}

/** 1 - SSE / SSE of the benchmark; null where the benchmark makes no error, which would divide by 0. */
function skill(rmse: number, benchmarkRmse: number): number | null {
  return finiteOrNull(1 - (rmse / benchmarkRmse) ** 2);
}

/** Over the rows where neither side is 0; null without such a row. */
function signAgreement(
  realised: Float64Array,
  predicted: Float64Array,
): Pick<Metrics, "hit_rate" | "up_share" | "hit_rate_se"> {
  let signed = 0;
  let hits = 0;
  let ups = 0;
  for (let i = 0; i < realised.length; i++) {
    const y = realised[i]!;
    const p = predicted[i]!;
    if (y === 0 || p === 0) continue;
    signed++;
    if (y > 0) ups++;
    if (y > 0 === p > 0) hits++;
  }
  if (signed === 0) return { hit_rate: null, up_share: null, hit_rate_se: null };
  const rate = hits / signed;
  return { hit_rate: rate, up_share: ups / signed, hit_rate_se: Math.sqrt((rate * (1 - rate)) / signed) };
}
