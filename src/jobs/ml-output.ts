import { formatDay } from "../contract/dates.ts";
import type { MlSettings } from "../contract/ml-settings.ts";
import type { Failure } from "../contract/output-blob.ts";
import { OUTPUT_SCHEMA_NAME } from "../contract/output-blob.ts";
import type { Warning } from "../contract/warnings.ts";
import { muRow } from "../panel/as-of.ts";
import type { ResolvedWindow } from "../panel/window.ts";
import type { EvaluatedTicker, Evaluation } from "./ml-evaluation.ts";
import type { OrderedJson } from "./ordered-json.ts";

/** Everything the output blob of run_ml_job is made of. */
export interface MlOutputParts {
  readonly id: string;
  readonly createdAt: Date;
  readonly window: ResolvedWindow;
  readonly asOf: number;
  readonly settings: MlSettings;
  readonly evaluation: Evaluation;
  readonly warnings: readonly Warning[];
  readonly failures: readonly Failure[];
  readonly provenance: OrderedJson;
}

/** The output blob, members in the order of the published schema, tickers ascending by code point. */
export function mlOutput(parts: MlOutputParts): OrderedJson {
  const { window, settings, evaluation } = parts;
  return {
    schema: OUTPUT_SCHEMA_NAME,
    operation: "run_ml_job",
    id: parts.id,
    created_at: parts.createdAt.toISOString(),
    window: {
      start: formatDay(window.start),
      end: formatDay(window.end),
      learning_end: window.learningEnd === undefined ? null : formatDay(window.learningEnd),
      as_of: formatDay(parts.asOf),
    },
    mu: muOf(evaluation.tickers, parts.asOf),
    forecasts: byTicker(evaluation.tickers, forecastOf),
    cross_validation: byTicker(evaluation.tickers, crossValidationOf),
    metrics: metricsOf(evaluation, settings),
    model: modelOf(settings),
    warnings: plain(parts.warnings),
    failures: plain(parts.failures),
    provenance: parts.provenance,
  };
}

/** Next-day log-return at `asOf` of each ticker that has one. */
function muOf(tickers: readonly EvaluatedTicker[], asOf: number): OrderedJson {
  const mu = new Map<string, number>();
  for (const { fitted, score } of tickers) {
    if (muRow(fitted.dates, asOf).row !== undefined) mu.set(fitted.ticker, score.predicted.at(-1)!);
  }
  return mu;
}

function byTicker(
  tickers: readonly EvaluatedTicker[],
  entry: (ticker: EvaluatedTicker) => OrderedJson,
): OrderedJson {
  return new Map(tickers.map((ticker) => [ticker.fitted.ticker, entry(ticker)]));
}

function forecastOf({ score, bounds }: EvaluatedTicker): OrderedJson {
  return {
    dates: dates(score.days),
    predicted: score.predicted,
    realised: nullable(score.realised),
    lower: nullable(bounds.lower),
    upper: nullable(bounds.upper),
  };
}

function crossValidationOf({ fitted, outOfFold, foldMetrics, oofMetrics }: EvaluatedTicker): OrderedJson {
  const { days } = fitted.fit;
  return {
    folds: fitted.folds.map(({ trainEnd, testStart, testEnd }, j) => ({
      train_start: formatDay(days[0]!),
      train_end: formatDay(days[trainEnd - 1]!),
      test_start: formatDay(days[testStart]!),
      test_end: formatDay(days[testEnd - 1]!),
      train_rows: trainEnd,
      ...foldMetrics[j]!,
    })),
    dates: dates(outOfFold.days),
    predicted: outOfFold.predicted,
    realised: outOfFold.realised,
    ...oofMetrics,
  };
}

function metricsOf({ score, outOfFold, baselines, coverage }: Evaluation, settings: MlSettings): OrderedJson {
  return {
    score: plain(score),
    out_of_fold: plain(outOfFold),
    baselines: plain(baselines),
    intervals:
      coverage === undefined || settings.intervals === undefined
        ? null
        : { ...settings.intervals, pooled: plain(coverage.pooled), by_ticker: plain(coverage.by_ticker) },
  };
}

/** The resolved configuration: what was fitted, every default filled in. */
function modelOf({ model, resolvedParams, cvTestSize, nSplits, intervals, scaler }: MlSettings): OrderedJson {
  return {
    model: model.name,
    library: model.library,
    class: model.className,
    model_params: resolvedParams,
    cv_test_size: cvTestSize,
    n_splits: nSplits,
    scaler,
    intervals: intervals === undefined ? null : { enabled: true, ...intervals },
  };
}

function dates(days: Int32Array): string[] {
  return Array.from(days, formatDay);
}

/** NaN as null. */
function nullable(values: Float64Array): (number | null)[] {
  return Array.from(values, (value) => (Number.isNaN(value) ? null : value));
}

/** Interfaces have no index signature, so what is plain JSON data says so here. */
function plain<T extends object>(value: T): T & OrderedJson {
  return value as T & OrderedJson;
}
