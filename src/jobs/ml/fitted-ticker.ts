import type { Day } from "../../contract/market/dates.ts";
import { outOfFoldMeans } from "../../evaluate/baselines.ts";
import { concatenate } from "../../evaluate/forecast-rows.ts";
import { deviation, mean, rootMeanSquare } from "../../evaluate/statistics.ts";
import { datesOf } from "../../panel/as-of.ts";
import type { Fold } from "../../panel/folds.ts";
import type { RefitBlock } from "../../panel/refit-blocks.ts";
import { fitLabels, forecastReturns, type PanelRows } from "../../panel/ticker-panel.ts";
import { levelOf } from "../shared/evaluate-forecasts.ts";
import { type ModelledTicker, rowFacts, type ScoreModel } from "../shared/modelled-ticker.ts";
import type { BlockPredictions, FitPredictions } from "./fits.ts";

/** A fold, as positions in a ticker's fit rows, and its first test date, at whose close the labels that its model learns are known. */
export type DatedFold = Fold & { readonly from: Day };

/** What models predict for the rows of a ticker, in units of the target. */
interface TickerPredictions {
  /** Shape (n), rows of the panel that models learn from. */
  readonly learn: Int32Array;
  readonly folds: readonly DatedFold[];
  readonly tested: readonly Pick<FitPredictions, "predicted" | "permuted">[];
  /** In time order; `train` are positions in `learn`. */
  readonly scored: readonly BlockPredictions[];
}

export function forecastTicker(
  panel: PanelRows,
  { learn, folds, tested, scored }: TickerPredictions,
  blocks: readonly RefitBlock[],
  about: Pick<ModelledTicker, "warnings" | "listed" | "importances" | "lastImportances">,
): ModelledTicker {
  const { ticker, fit, score, days, labelDays, y, volatility, joins } = panel;
  const labels = fitLabels(panel);
  const parts = folds.map(({ testStart, testEnd }) => fit.subarray(testStart, testEnd));
  const rows = Int32Array.from(parts.flatMap((part) => [...part]));
  const outOfFold = (predictedIn: (fold: number) => Float64Array) =>
    concatenate(folds.map(({ from }, f) => forecastReturns(panel, parts[f]!, predictedIn(f), from)));
  const heldOut = {
    ticker,
    days: rows.map((row) => days[row]!),
    labelDays: rows.map((row) => labelDays[row]!),
    predicted: outOfFold((f) => tested[f]!.predicted),
    spans: folds.flatMap(({ from }, f) => levelOf(panel, parts[f]!, from)),
    realised: Float64Array.from(rows, (row) => y[row]!),
    trainingMean: outOfFoldMeans(labels, folds),
    labelDeviation: deviation(labels),
  };
  let at = 0;
  const models = scored.map(({ block, train, predicted, error }): ScoreModel => {
    const from = at;
    at += predicted.length;
    const learned = Float64Array.from(learn.subarray(...train), (row) => y[row]!);
    const labelMean = learned.length === 0 ? 0 : mean(learned);
    return { block, from, to: at, fitRows: learned.length, labelMean, isStandIn: error !== undefined };
  });
  const rowsOf = (model: number) => score.subarray(models[model]!.from, models[model]!.to);
  const knownTo = ({ model }: BlockPredictions) => blocks[model]!.known;
  const [first] = folds;
  const permuted = tested[0]?.permuted.map((_, g) => outOfFold((f) => tested[f]!.permuted[g]!)) ?? [];
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
      predicted: concatenate(
        scored.map((own, m) => forecastReturns(panel, rowsOf(m), own.predicted, knownTo(own))),
      ),
      spans: scored.flatMap((own, m) => levelOf(panel, rowsOf(m), knownTo(own))),
    },
    ...{ folds, heldOut, residuals: heldOut, tested: [heldOut], models },
    unit: first ? rootMeanSquare(labels.subarray(first.trainStart, first.trainEnd)) ** 2 : 0,
    ...(permuted.length === 0 ? {} : { permuted }),
    rows: rowFacts(panel),
  };
}
