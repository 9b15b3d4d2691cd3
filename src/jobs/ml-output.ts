import { formatDay } from "../contract/dates.ts";
import type { MlSettings } from "../contract/ml-settings.ts";
import { type DocumentParts, dateTexts, jobDocument, recordedIntervals } from "./job-document.ts";
import type { EvaluatedTicker, Evaluation } from "./ml-evaluation.ts";
import type { OrderedJson } from "./ordered-json.ts";

/** What the output blob of run_ml_job is made of. */
export type MlOutputParts = Pick<
  DocumentParts,
  "id" | "createdAt" | "window" | "asOf" | "warnings" | "failures" | "provenance"
> & { readonly settings: MlSettings; readonly evaluation: Evaluation };

/** The output blob of run_ml_job. */
export function mlOutput({ settings, evaluation, ...parts }: MlOutputParts): OrderedJson {
  const { tickers } = evaluation;
  return jobDocument({
    ...parts,
    operation: "run_ml_job",
    tickers,
    making: {
      cross_validation: new Map(
        tickers.map((ticker) => [ticker.score.ticker, () => crossValidationOf(ticker)]),
      ),
    },
    evidence: evaluation.evidence,
    intervals: settings.intervals,
    model: modelOf(settings),
  });
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
    dates: dateTexts(outOfFold.days),
    predicted: outOfFold.predicted,
    realised: outOfFold.realised,
    ...oofMetrics,
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
    intervals: recordedIntervals(intervals),
  };
}
