import { MucastError } from "../../contract/errors/errors.ts";
import type { Warning } from "../../contract/problems/warnings.ts";
import type { ConstantDescription, Diagnosis, FitPredictResult } from "../../engine/pool/protocol.ts";
import { failedRefits } from "../shared/ticker-warnings.ts";
import type { PlannedFit, PlannedRefit, RowRange } from "./plan-fits.ts";

/** The predictions of the score rows of one block, and the model that made them. */
export interface BlockPredictions {
  readonly block: number;
  /** The block that the model was fitted for: an earlier one if the fit of this block failed. */
  readonly model: number;
  readonly train: RowRange;
  readonly predicted: Float64Array;
  /** Importances of its task. */
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
 * Runs the fits of the blocks after the first, in tasks of neighbours. If a fit cannot be trained, the model of the previous block is
 * fitted once more and predicts the block's rows. A fit that can be trained but fails on the rows that it predicts is an error, as for the
 * first block: these rows are at fault, and a forecast must not depend on later rows of its block.
 * @param first the fit of the first block, which has succeeded, and its number.
 * @throws MucastError fit_failed, for the first fit in time order; errors of the engine.
 */
export async function runRefits(
  first: PlannedRefit,
  tasks: readonly (readonly PlannedRefit[])[],
  run: RunFits,
): Promise<BlockPredictions[]> {
  // The largest first.
  const started = tasks.toReversed().map((fits) => run(fits).catch(fitError));
  // All end before one is retried: an engine fault ends the others.
  const ended = await Promise.allSettled(started);
  const results = ended.map(resultOf).reverse();
  const done: BlockPredictions[] = [];
  for (const [i, fits] of tasks.entries()) {
    const result = results[i]!;
    if (!(result instanceof MucastError)) done.push(...partsOf(fits, result));
    else for (const fit of fits) done.push(await runAlone(fit, done.at(-1) ?? firstModel(first), run));
  }
  return done;
}

function resultOf<T>(ended: PromiseSettledResult<T>): T {
  if (ended.status === "rejected") throw ended.reason;
  return ended.value;
}

/** Returns the error of a fit. @throws any other. */
function fitError(error: unknown): MucastError {
  if (error instanceof MucastError && error.code === "fit_failed") return error;
  throw error;
}

function partsOf(
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

type FittedModel = Pick<BlockPredictions, "model" | "train">;

function firstModel({ block, train }: PlannedRefit): FittedModel {
  return { model: block, train };
}

/** One failed fit of a task. @param before the model of the previous block. */
async function runAlone(fit: PlannedRefit, before: FittedModel, run: RunFits): Promise<BlockPredictions> {
  const { block, ...alone } = fit;
  const result = await run([alone]).catch(fitError);
  if (!(result instanceof MucastError)) return partsOf([fit], result)[0]!;
  const { train, predict } = fit;
  const trained = await run([{ train, predict: [predict[0], predict[0]] }]).catch(fitError);
  if (!(trained instanceof MucastError)) throw result;
  const standIn = await run([{ ...alone, train: before.train }]);
  return { ...before, ...standIn, diagnosis: standIn.result.diagnoses[0], block, error: result };
}

/** The warning that models of earlier blocks are used instead. @param ticker undefined for one fit of all tickers. */
export function failedRefitWarnings(byBlock: readonly BlockPredictions[], ticker?: string): Warning[] {
  const failed = byBlock.flatMap(({ block, predicted, error }) =>
    error === undefined ? [] : [{ block, rows: predicted.length, message: error.message }],
  );
  return failedRefits(failed, ticker);
}

/** The diagnosis of a model that predicts one value in every block, and for at least two rows of one; otherwise undefined. */
export function constantOf(byBlock: readonly BlockPredictions[]): ConstantDescription | undefined {
  const isOne = byBlock.every(({ predicted }) => predicted.every((value) => value === predicted[0]));
  return isOne
    ? byBlock.map(({ diagnosis }) => diagnosis?.constant).find((found) => found !== undefined)
    : undefined;
}
