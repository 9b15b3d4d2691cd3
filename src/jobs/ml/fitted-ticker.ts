import type { Day } from "../../contract/market/dates.ts";
import { outOfFoldMeans } from "../../evaluate/baselines.ts";
import { concatenate } from "../../evaluate/forecast-rows.ts";
import { deviation, mean } from "../../evaluate/statistics.ts";
import { datesOf } from "../../panel/as-of.ts";
import type { Fold } from "../../panel/folds.ts";
import type { RefitBlock } from "../../panel/refit-blocks.ts";
import { fitLabels, forecastReturns, type PanelRows } from "../../panel/ticker-panel.ts";
import { levelOf } from "../shared/evaluate-forecasts.ts";
import { type ModelledTicker, rowFacts, type ScoreModel } from "../shared/modelled-ticker.ts";
import type { BlockPredictions, SplitPredictions } from "./fits.ts";

/** A ticker with its regressors' forecasts. Its held-out rows are the test rows of its folds. */
export interface FittedTicker extends ModelledTicker {
  readonly folds: readonly Fold[];
  readonly fitDays: Int32Array;
  /** With `importance`, for each group of features: the forecasts of the held-out rows with the group shuffled. */
  readonly permuted?: readonly Float64Array[];
}

/** A fold, as positions in a ticker's fit rows, and the close at which the labels that its model learns are known: its first test date. */
export type DatedFold = Fold & { readonly from: Day };

/** What the models of one ticker, or of all, predict for its rows, in units of the target. */
export interface TickerPredictions {
  /** Shape (n), rows of the panel that models learn from. */
  readonly learn: Int32Array;
  readonly folds: readonly DatedFold[];
  /** The test rows of all folds, in time order. */
  readonly tested: SplitPredictions;
  /** In time order; `train` are positions in `learn`. */
  readonly byBlock: readonly BlockPredictions[];
}

/** The return forecasts of one ticker. @param about its warnings, and the importances of its own model. */
export function forecastTicker(
  panel: PanelRows,
  { learn, folds, tested, byBlock }: TickerPredictions,
  blocks: readonly RefitBlock[],
  about: Pick<FittedTicker, "warnings" | "listed" | "importances" | "lastImportances">,
): FittedTicker {
  const { ticker, fit, score, days, labelDays, y, volatility, joins } = panel;
  const labels = fitLabels(panel);
  const rows = concatenateRows(folds.map(({ testStart, testEnd }) => fit.subarray(testStart, testEnd)));
  const heldOut = {
    ticker,
    days: rows.map((row) => days[row]!),
    labelDays: rows.map((row) => labelDays[row]!),
    predicted: outOfFold(panel, folds, tested.predicted),
    spans: folds.flatMap(({ testStart, testEnd, from }) =>
      levelOf(panel, fit.subarray(testStart, testEnd), from),
    ),
    realised: Float64Array.from(rows, (row) => y[row]!),
    trainingMean: outOfFoldMeans(labels, folds),
    labelDeviation: deviation(labels),
  };
  let at = 0;
  const models: ScoreModel[] = [];
  const parts = byBlock.map(({ block, model, train, predicted, error }) => {
    const from = at;
    at += predicted.length;
    const learned = Float64Array.from(learn.subarray(...train), (row) => y[row]!);
    const labelMean = learned.length === 0 ? 0 : mean(learned);
    models.push({ block, from, to: at, fitRows: learned.length, labelMean, isStandIn: error !== undefined });
    const { known } = blocks[model]!;
    const scored = score.subarray(from, at);
    return {
      spans: levelOf(panel, scored, known),
      predicted: forecastReturns(panel, scored, predicted, known),
    };
  });
  return {
    ...about,
    ticker,
    dates: datesOf(panel),
    ...(joins === undefined ? {} : { joins }),
    fitDays: fit.map((row) => days[row]!),
    fitLabels: labels,
    score: {
      days: score.map((row) => days[row]!),
      labels: Float64Array.from(score, (row) => y[row]!),
      labelDays: score.map((row) => labelDays[row]!),
      volatility: Float64Array.from(score, (row) => volatility[row]!),
      predicted: concatenate(parts.map((part) => part.predicted)),
      spans: parts.flatMap(({ spans }) => spans),
    },
    ...{ folds, heldOut, residuals: heldOut, models },
    ...(tested.permuted.length === 0
      ? {}
      : { permuted: tested.permuted.map((own) => outOfFold(panel, folds, own)) }),
    rows: rowFacts(panel),
  };
}

function concatenateRows(parts: readonly Int32Array[]): Int32Array {
  return Int32Array.from(parts.flatMap((part) => [...part]));
}

/** Shape (test rows of all folds), in time order: return forecasts. */
function outOfFold(panel: PanelRows, folds: readonly DatedFold[], predicted: Float64Array): Float64Array {
  let at = 0;
  const parts = folds.map(({ testStart, testEnd, from }) => {
    const own = predicted.subarray(at, at + testEnd - testStart);
    at += own.length;
    return forecastReturns(panel, panel.fit.subarray(testStart, testEnd), own, from);
  });
  return concatenate(parts);
}
