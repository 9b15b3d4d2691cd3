/** What the regressors of one ticker and of all tickers share: fits as rows of a matrix, and the refits of later blocks. */
import { MucastError } from "../../contract/errors/errors.ts";
import { counted } from "../../contract/errors/wording.ts";
import { type Day, formatDay } from "../../contract/market/dates.ts";
import type { Warning } from "../../contract/problems/warnings.ts";
import type { Diagnosis, FitPredictResult } from "../../engine/pool/protocol.ts";
import { concatenate } from "../../evaluate/forecast-rows.ts";
import { sampleDeviation } from "../../evaluate/statistics.ts";
import type { Importance, SpreadImportance } from "../shared/modelled-ticker.ts";
import { constantWarning, failedRefits } from "../shared/ticker-warnings.ts";

/** Half-open row range of a matrix, whose rows are those that some fit learns from, followed by the score rows. */
export type RowRange = readonly [from: number, to: number];

/** One fit: which rows to learn from and which to predict. */
export interface PlannedFit {
  readonly train: RowRange;
  readonly predict: RowRange;
  /** Also predicts its rows with features of random rows of this range, which contains them. */
  readonly pool?: RowRange;
  /** Set for fits that predict score rows: the engine reports the importances of their features, and explains a constant forecast. */
  readonly diagnose?: true;
}

/** The fit of a block of score rows. */
export interface PlannedRefit extends PlannedFit {
  readonly block: number;
}

/** The predictions of the score rows of one block, and the model that made them. */
export interface BlockPredictions {
  readonly block: number;
  /** The block that the model was fitted for: an earlier one if the fit of this block failed. */
  readonly model: number;
  readonly train: RowRange;
  readonly predicted: Float64Array;
  readonly result: FitPredictResult;
  /** Results of the fit itself. */
  readonly diagnosis: Diagnosis | undefined;
  /** The library's message about the failed fit. */
  readonly error?: MucastError;
}

/** Runs fits as one task of the engine. @throws MucastError of the engine. */
export type RunFits = (
  fits: readonly PlannedFit[],
) => Promise<{ readonly result: FitPredictResult; readonly predicted: Float64Array }>;

/**
 * Runs the fits of the blocks after the first, in tasks of neighbours. If a fit fails, the last good model is fitted once more and predicts
 * the rows of the block.
 * @param first the fit of the first block, which succeeds or ends all.
 * @throws MucastError fit_failed if that fails too, for the first fit in time order; errors of the engine.
 */
export async function runRefits(
  first: PlannedRefit,
  tasks: readonly (readonly PlannedRefit[])[],
  run: RunFits,
): Promise<BlockPredictions[]> {
  // The largest first. All end before one is retried: an engine fault ends the others.
  const started = tasks.toReversed().map((fits) => run(fits).catch(returnFailedFit));
  const ended = (await Promise.allSettled(started)).reverse();
  const done: BlockPredictions[] = [];
  for (const [i, fits] of tasks.entries()) {
    const result = ended[i]!;
    if (result.status === "rejected") throw result.reason;
    if (!(result.value instanceof MucastError)) done.push(...cutPredictions(fits, result.value));
    else {
      for (const fit of fits) {
        const { train, model } = done.at(-1) ?? { train: first.train, model: first.block };
        const alone = fits.length === 1 ? result.value : await run([fit]).catch(returnFailedFit);
        const stand = alone instanceof MucastError ? await run([{ ...fit, train }]) : alone;
        const [own] = cutPredictions([fit], stand) as [BlockPredictions];
        done.push(alone instanceof MucastError ? { ...own, train, model, error: alone } : own);
      }
    }
  }
  return done;
}

/** @throws any error that is not about a fit. */
function returnFailedFit(error: unknown): MucastError {
  if (error instanceof MucastError && error.code === "fit_failed") return error;
  throw error;
}

function cutPredictions(
  fits: readonly PlannedRefit[],
  { result, predicted }: Awaited<ReturnType<RunFits>>,
): BlockPredictions[] {
  let at = 0;
  return fits.map(({ block, train, predict: [from, to] }, i) => {
    const start = at;
    at += to - from;
    const diagnosis = result.diagnoses[i];
    return { block, model: block, train, predicted: predicted.subarray(start, at), result, diagnosis };
  });
}

/**
 * The warnings about the models of all blocks: a constant forecast, fits that did not converge, failed refits.
 * @param results of all tasks. @param name of the model. @param ticker undefined for one model of all tickers.
 */
export function fitWarnings(
  byBlock: readonly BlockPredictions[],
  results: readonly FitPredictResult[],
  name: string,
  ticker?: string,
): Warning[] {
  const own = ticker === undefined ? {} : { ticker };
  const isConstant = byBlock.every(({ predicted }) => predicted.every((value) => value === predicted[0]));
  const constant = byBlock.map(({ diagnosis }) => diagnosis?.constant).find((found) => found !== undefined);
  const count = results.reduce((sum, result) => sum + result.unconverged_fits, 0);
  const fits = ticker === undefined ? counted(count, "pooled fit") : `${ticker}: ${counted(count, "fit")}`;
  const failed = byBlock.flatMap(({ block, predicted, error }) =>
    error === undefined ? [] : [{ block, rows: predicted.length, message: error.message }],
  );
  return [
    ...(isConstant && constant !== undefined
      ? [{ code: "constant_predictions", ...own, message: constantWarning(name, constant).message } as const]
      : []),
    ...(count === 0
      ? []
      : [{ code: "not_converged", ...own, count, message: `${fits} did not converge.` } as const]),
    ...failedRefits(failed, ticker),
  ];
}

/**
 * The importances of the first fit, and of the last one with their deviations over all fits. Absent if its library has none.
 * @param names of the columns.
 */
export function importancesOf(byBlock: readonly BlockPredictions[], names: readonly string[]) {
  const fits = byBlock
    .filter(({ error }) => error === undefined)
    .map(({ diagnosis }) =>
      diagnosis?.importances?.map(
        ([column, importance]): Importance => ({ feature: names[column]!, importance }),
      ),
    );
  const byFit = fits.map((fit) => new Map(fit?.map(({ feature, importance }) => [feature, importance])));
  const last = fits.at(-1)?.map(({ feature, importance }): SpreadImportance => {
    const values = byFit.map((fit) => fit.get(feature) ?? Number.NaN);
    if (values.length < 2 || values.some(Number.isNaN)) return { feature, importance };
    return { feature, importance, spread: sampleDeviation(Float64Array.from(values)) };
  });
  return { ...(fits[0] && { importances: fits[0] }), ...(last && { lastImportances: last }) };
}

/** The predictions of a task: those of its fits, and for each group those of its fits with `pool`, with the group shuffled. */
export interface SplitPredictions {
  readonly predicted: Float64Array;
  readonly permuted: readonly Float64Array[];
}

/** @param values of all fits, then fit by fit and group by group; @param groups their number. */
export function splitPredictions(
  values: Float64Array,
  fits: readonly PlannedFit[],
  groups: number,
): SplitPredictions {
  if (groups === 0) return { predicted: values, permuted: [] };
  const rowsOf = ({ predict: [from, to] }: PlannedFit) => to - from;
  let at = fits.reduce((sum, fit) => sum + rowsOf(fit), 0);
  const predicted = values.slice(0, at);
  const parts = Array.from({ length: groups }, (): Float64Array[] => []);
  for (const fit of fits) {
    if (fit.pool === undefined) continue;
    for (const part of parts) {
      part.push(values.subarray(at, at + rowsOf(fit)));
      at += rowsOf(fit);
    }
  }
  return { predicted, permuted: parts.map((own) => (own.length === 1 ? own[0]! : concatenate(own))) };
}

/**
 * Adds to the error of a failed fit which value of its rows is too large for many libraries, if there is one.
 * @param at the ticker and date of a row of the matrix.
 */
export function nameTooLarge(
  fitted: Promise<FitPredictResult>,
  columns: readonly string[],
  at: (row: number) => { readonly ticker: string; readonly day: Day },
): Promise<FitPredictResult> {
  return fitted.catch((error: unknown) => {
    if (!(error instanceof MucastError && error.data.too_large)) throw error;
    const { too_large, ...data } = error.data;
    const { row, column, value } = too_large as { row: number; column: number; value: number };
    const { ticker, day } = at(row);
    const what = `${columns[column]} of ${ticker} is ${value} on ${formatDay(day)}, too large for many models`;
    throw new MucastError(error.code, `${error.message.replace(/\.$/, "")}; ${what}`, data);
  });
}
