import type { MlSettings } from "../../contract/config/ml-settings.ts";
import type { Pausable } from "../../contract/machine/pausable.ts";
import type { Warning } from "../../contract/problems/warnings.ts";
import type { FitPredictResult } from "../../engine/pool/protocol.ts";
import { concatenate } from "../../evaluate/forecast-rows.ts";
import type { PooledMember, PooledPlan } from "../../panel/pooled-plan.ts";
import { forecastReturns } from "../../panel/ticker-panel.ts";
import { type Listed, listedOfRows } from "../shared/listed-warnings.ts";
import type { PanelOnDisk } from "../shared/panel-files.ts";
import { rowFacts } from "../shared/row-facts.ts";
import { type FittedTicker, fittedRows } from "./fit-ticker.ts";
import { planWarnings } from "./plan-fits.ts";

/** A panel in the work folder with what its features show. */
export type ListedPanel = PanelOnDisk & { readonly listed: readonly Listed[] };

/** What one fit of a pooled plan predicts: the test rows of a fold, or all score rows. */
export interface FitPredictions {
  readonly result: FitPredictResult;
  readonly predicted: Float64Array;
  /** The row of the matrix that the first of them belongs to. */
  readonly from: number;
}

/**
 * The forecasts of each ticker, taken from those of the pooled fits.
 * @param fits of the folds in time order, then of the final model.
 * @param absent `feature_absent`, for the tickers that lack some.
 */
export function* pooledTickers(
  plan: PooledPlan<ListedPanel>,
  fits: readonly FitPredictions[],
  absent: readonly Warning[],
  settings: MlSettings,
): Pausable<FittedTicker[]> {
  const absentOf = Map.groupBy(absent, ({ ticker }) => ticker);
  const fitted: FittedTicker[] = [];
  for (const member of plan.members) {
    yield 0;
    const { panel, places, folds } = member;
    const { ticker, fit } = panel;
    const rows = rowFacts(panel);
    fitted.push({
      ...fittedRows(panel, predictionsAt(places.subarray(fit.length), fits.at(-1)!)),
      folds,
      outOfFold: outOfFoldReturns(member, plan, fits),
      rows,
      warnings: [...planWarnings(panel, folds, settings), ...(absentOf.get(ticker) ?? [])],
      // One regressor learns from all rows, so that a ticker's own rows are never too few for the features.
      listed: [...listedOfRows(ticker, { ...rows, features: 0 }), ...panel.listed],
    });
  }
  return fitted;
}

/** Forecasts of returns of each fold's test rows; its model learned from the labels known at the close of its first test date. */
function outOfFoldReturns(
  { panel, places, folds }: PooledMember<ListedPanel>,
  plan: PooledPlan,
  fits: readonly FitPredictions[],
): Float64Array {
  const parts = folds.map(({ fold, testStart, testEnd }) => {
    const predicted = predictionsAt(places.subarray(testStart, testEnd), fits[fold]!);
    return forecastReturns(panel, panel.fit.subarray(testStart, testEnd), predicted, plan.folds[fold]!.from);
  });
  return concatenate(parts);
}

/** @param places rows of the matrix. */
function predictionsAt(places: Float64Array, { predicted, from }: FitPredictions): Float64Array {
  return places.map((place) => predicted[place - from]!);
}
