import type { MlCandidates, MlSettings } from "../../../contract/config/ml-settings.ts";
import { MucastError } from "../../../contract/errors/errors.ts";
import type { Day } from "../../../contract/market/dates.ts";
import type { Failure } from "../../../contract/problems/problem.ts";
import { datesOf } from "../../../panel/as-of.ts";
import { foldCount } from "../../../panel/folds.ts";
import { type RefitBlock, refitBlocks } from "../../../panel/refit-blocks.ts";
import type { PanelRows } from "../../../panel/ticker-panel.ts";
import type { ChoiceResult } from "../../shared/choice/choice-result.ts";
import { CandidateFits } from "../../shared/choice/combine-candidates.ts";
import { type ReadPanels, SharedPanels } from "../../shared/choice/compared-panels.ts";
import { errorOfCandidate, lostTickers } from "../../shared/choice/lost-tickers.ts";
import type { JobContext } from "../../shared/job.ts";
import { requireCurrentTicker, requireForecasts } from "../../shared/require-forecasts.ts";
import { FitTimings } from "../../shared/timings.ts";
import { requireRoom } from "../fit-pooled.ts";
import type { FitOptions } from "../fit-ticker.ts";
import {
  type BlockedOutcome,
  fitCompared,
  memoryLimitOf,
  type OnFits,
  type ReadyPanels,
} from "../fit-together.ts";
import type { FittedTicker } from "../fitted-ticker.ts";
import { planFits, refusedColumns } from "../plan-fits.ts";
import type { ListedPanel } from "../pooled-tickers.ts";
import { combineRegressors } from "./combine-regressors.ts";
import { SharedFits } from "./shared-fits.ts";

/**
 * Fits every candidate, one after another, on panels that were read once. Each fits the folds that only serve the choice too. All have the
 * same blocks of score rows, so that the members of a block know the same labels.
 * @param read its files are removed once the tickers are compared.
 * A candidate whose pooled fit fails has no ticker.
 * @throws MucastError no_forecast if no ticker is current; out_of_memory, before anything is fitted, if a pooled fit needs more than there is; engine_crashed if processes of the engine die at a pooled fit or at every
 *   ticker; errors of the engine that are not about one fit.
 */
export async function fitCandidates(
  read: ReadPanels<ListedPanel>,
  choice: MlCandidates,
  asOf: Day,
  options: FitOptions,
  context: JobContext,
  onFits: OnFits,
): Promise<BlockedOutcome & { readonly choice: ChoiceResult }> {
  const settings = choice.candidates.map((candidate) => withWarmUp(candidate.settings, choice));
  const shared = SharedPanels.compare(read, settings, options.workFolder);
  const { panels } = shared.of(shared.firstWithPanels(settings)).prepared;
  requireCurrentTicker(panels.map(datesOf), asOf);
  const blocks = refitBlocks(panels, options.settings.refitEvery);
  requireRoomForAll(shared, settings, blocks, options.pool, context);
  const counts = settings.map((own) => fitCount(shared.of(own).prepared.panels, own, blocks));
  const total = read.late === undefined ? counts.reduce((sum, count) => sum + count, 0) : undefined;
  const fits = new CandidateFits<MlSettings, FittedTicker>(({ heldOut }) => [heldOut]);
  let first: Omit<BlockedOutcome, "fitted"> | undefined;
  const sharedFits = new SharedFits(options.pool, settings);
  let finished = 0;
  for (const [i, candidate] of choice.candidates.entries()) {
    const { folder, ...linked } = shared.linked(settings[i]!);
    const ready = { ...linked, blocks };
    const own = {
      ...options,
      settings: settings[i]!,
      pool: sharedFits.poolOf(i),
      workFolder: folder,
      timings: new FitTimings(context),
    };
    let last = 0;
    const { fitted, ...outcome } = await fitCompared(ready, own, context, (done) => {
      last = done;
      onFits(finished + done, total);
    }).catch((error: unknown) => failedOutcome(error, ready, i, candidate.label));
    SharedPanels.removeLinked(folder);
    sharedFits.finish(i);
    finished += total === undefined ? last : counts[i]!;
    fits.add(candidate, fitted, outcome);
    first ??= outcome;
    const lost = lostTickers(fits.outcomes);
    if (panels.every(({ ticker }) => lost.has(ticker)))
      requireForecasts([], [...lost.values()], { asOf, unused: () => [] });
  }
  shared.remove();
  return combineRegressors(fits, first!, choice);
}

/** @throws MucastError out_of_memory if the largest fit of a pooled candidate does not fit into the memory of this machine. */
function requireRoomForAll(
  shared: SharedPanels<ListedPanel>,
  settings: readonly MlSettings[],
  blocks: readonly RefitBlock[],
  pool: FitOptions["pool"],
  context: JobContext,
): void {
  const limit = memoryLimitOf(context);
  if (limit === undefined) return;
  const pooled = settings.filter(({ fit }) => fit === "pooled");
  for (const [{ prepared }, own] of Map.groupBy(pooled, (one) => shared.of(one))) {
    requireRoom(prepared.panels, own, blocks, { limit, held: pool.heldBytes() });
  }
}

/** The settings with the folds that only serve the choice. */
export function withWarmUp(settings: MlSettings, { warmUp }: MlCandidates): MlSettings {
  return { ...settings, nSplits: settings.nSplits + warmUp };
}

/** The number of fits of a candidate, without those of late tickers. */
export function fitCount(
  panels: readonly PanelRows[],
  settings: MlSettings,
  blocks: readonly RefitBlock[],
): number {
  if (settings.fit === "pooled") {
    const { cvTestSize, nSplits, delay } = settings;
    return foldCount(fitDates(panels), cvTestSize, nSplits, delay) + blocks.length;
  }
  return panels.reduce((sum, panel) => {
    if (refusedColumns(panel, settings) !== undefined) return sum;
    const { fits, refits } = planFits(panel, settings, blocks);
    return sum + fits.length + refits.length;
  }, 0);
}

function fitDates(panels: readonly PanelRows[]): number {
  const days = new Set<Day>();
  for (const { fit, days: own } of panels) for (const row of fit) days.add(own[row]!);
  return days.size;
}

/** A pooled fit that fails leaves its candidate without any ticker. @throws any other error, with the name of the candidate. */
function failedOutcome(
  error: unknown,
  { prepared, blocks }: ReadyPanels,
  c: number,
  label: string,
): BlockedOutcome {
  if (!(error instanceof MucastError)) throw error;
  const { code, message } = error;
  if (code === "engine_crashed") throw errorOfCandidate(error, c, label);
  if (code !== "fit_failed") throw error;
  const failures = prepared.panels.map(({ ticker }): Failure => ({ ticker, code, message }));
  return { fitted: [], failures: [...prepared.failures, ...failures], blocks, listed: [], warnings: [] };
}
