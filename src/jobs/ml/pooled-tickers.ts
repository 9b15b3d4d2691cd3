import type { Warning } from "../../contract/problems/warnings.ts";
import type { FitPredictResult } from "../../engine/pool/protocol.ts";
import { concatenate } from "../../evaluate/forecast-rows.ts";
import { hasLateForecasts } from "../../panel/late-ticker.ts";
import type { PooledMember, PooledPlan } from "../../panel/pooled-plan.ts";
import { firstBlock } from "../../panel/refit-blocks.ts";
import { forecastReturns } from "../../panel/ticker-panel.ts";
import { levelOf } from "../shared/evaluate-forecasts.ts";
import { type Listed, lateTicker, listedOfRows } from "../shared/listed-warnings.ts";
import { rowFacts } from "../shared/modelled-ticker.ts";
import type { PanelOnDisk } from "../shared/panel-files.ts";
import type { FitOptions } from "./fit-ticker.ts";
import { type FittedTicker, fittedRows, outOfFold, scoreModels } from "./fitted-ticker.ts";
import { planWarnings } from "./plan-fits.ts";
import type { BlockPredictions } from "./run-refits.ts";

/** A panel in the work folder with the listings of its features. */
export type ListedPanel = PanelOnDisk & { readonly listed: readonly Listed[] };

/** What the fit of a fold predicts: its test rows. */
export interface FitPredictions {
  readonly result: FitPredictResult;
  readonly predicted: Float64Array;
  /** With `importance`, for each group of features: the same with the group shuffled within dates. */
  readonly permuted: readonly Float64Array[];
  /** The matrix row of the first of them. */
  readonly from: number;
}

/** The finished fits of a pooled plan. */
export interface PooledFits {
  readonly folds: readonly FitPredictions[];
  /** One entry per block, in time order. */
  readonly blocks: readonly BlockPredictions[];
}

/**
 * The forecasts of each ticker, extracted from those of the pooled fits.
 * @param absent `feature_absent`, for the tickers that lack some.
 */
export function pooledTickers(
  plan: PooledPlan<ListedPanel>,
  fits: PooledFits,
  absent: readonly Warning[],
  { settings, groups }: Pick<FitOptions, "settings" | "groups">,
): FittedTicker[] {
  const absentOf = Map.groupBy(absent, ({ ticker }) => ticker);
  const fitted: FittedTicker[] = [];
  for (const member of plan.members) {
    const { panel, folds } = member;
    if (panel.joins !== undefined && !hasLateForecasts(panel)) continue;
    const { ticker } = panel;
    const rows = rowFacts(panel);
    const byBlock = blocksOfTicker(member, plan, fits.blocks);
    const spans = folds.flatMap(({ fold, testStart, testEnd }) =>
      levelOf(panel, panel.fit.subarray(testStart, testEnd), plan.folds[fold]!.from),
    );
    fitted.push({
      ...fittedRows(panel, byBlock, plan.blocks),
      ...outOfFold(panel, folds, outOfFoldReturns(member, plan, fits.folds), spans),
      models: scoreModels(panel, member.learn, byBlock),
      ...(groups && {
        permuted: groups.map((_, g) =>
          outOfFoldReturns(member, plan, fits.folds, ({ permuted }) => permuted[g]!),
        ),
      }),
      rows,
      warnings: [...planWarnings(panel, folds, settings), ...(absentOf.get(ticker) ?? [])],
      // One regressor learns from all rows, so a ticker's own rows are never too few for the features.
      listed: [...listedOfRows(ticker, { ...rows, features: 0 }), ...panel.listed, ...lateTicker(panel)],
    });
  }
  return fitted;
}

/** The predictions of the blocks' models for one ticker, and those of its own rows that they learned from. */
function blocksOfTicker(
  { panel, learn, places, blocks }: PooledMember<ListedPanel>,
  plan: PooledPlan,
  predictions: readonly BlockPredictions[],
): BlockPredictions[] {
  const first = firstBlock(panel, plan.blocks);
  const score = places.subarray(learn.length);
  return predictions.flatMap((part, b) => {
    const { scoreStart, scoreEnd } = blocks[b]!;
    if (b !== first && scoreStart === scoreEnd) return [];
    const { trainStart, trainEnd } = blocks[part.model]!;
    const from = plan.blocks[b]!.scoreStart;
    const predicted = predictionsAt(score.subarray(scoreStart, scoreEnd), { ...part, from });
    return [{ ...part, train: [trainStart, trainEnd], predicted }];
  });
}

/** Return forecasts of each fold's test rows. Its model learned from the labels known at the close of its first test date. */
function outOfFoldReturns(
  { panel, places, folds }: PooledMember<ListedPanel>,
  plan: PooledPlan,
  fits: PooledFits["folds"],
  predictedBy = ({ predicted }: FitPredictions) => predicted,
): Float64Array {
  const parts = folds.map(({ fold, testStart, testEnd }) => {
    const fit = fits[fold]!;
    const predicted = predictionsAt(places.subarray(testStart, testEnd), {
      predicted: predictedBy(fit),
      from: fit.from,
    });
    return forecastReturns(panel, panel.fit.subarray(testStart, testEnd), predicted, plan.folds[fold]!.from);
  });
  return concatenate(parts);
}

/** @param places rows of the matrix. */
function predictionsAt(
  places: Float64Array,
  { predicted, from }: Pick<FitPredictions, "predicted" | "from">,
): Float64Array {
  return places.map((place) => predicted[place - from]!);
}
