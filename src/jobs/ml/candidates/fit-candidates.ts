import type { MlCandidates } from "../../../contract/config/choice/ml-candidates.ts";
import type { MlSettings } from "../../../contract/config/ml-settings.ts";
import type { Day } from "../../../contract/market/dates.ts";
import { type DroppedCandidates, NONE_DROPPED } from "../../../evaluate/choice/racing.ts";
import { datesOf } from "../../../panel/as-of.ts";
import { type RefitBlock, refitBlocks } from "../../../panel/refit-blocks.ts";
import { type ReadPanels, SharedPanels } from "../../shared/choice/compared-panels.ts";
import type { JobContext } from "../../shared/job.ts";
import { requireCurrentTicker } from "../../shared/require-forecasts.ts";
import { ALL_FITS } from "../fit-part.ts";
import { requireRoom } from "../fit-pooled.ts";
import type { FitOptions } from "../fit-ticker.ts";
import { memoryLimitOf, type OnFits, untilTrialFails } from "../fit-together.ts";
import type { ListedPanel } from "../pooled-tickers.ts";
import { withWarmUp } from "./candidate-progress.ts";
import { type CandidateOutcome, CandidateRuns } from "./candidate-runs.ts";
import type { BaseFits } from "./candidate-ticker.ts";
import { raceCandidates } from "./race-candidates.ts";

/** The finished fits of all candidates. */
export interface CandidateFits {
  /** One per candidate. */
  readonly outcomes: readonly CandidateOutcome[];
  /** By ticker, the final fits of the first candidate that has them. Those of all candidates would take gigabytes. */
  readonly bases: ReadonlyMap<string, BaseFits>;
  readonly dropped: DroppedCandidates;
}

/**
 * Fits every candidate, one after another, on panels that were read once. Each fits the folds that only serve the choice too. All have the
 * same blocks of score rows, so that the members of a block know the same labels. With racing, candidates that fall behind are dropped.
 * @param read its files are removed once the tickers are compared.
 * @returns the outcomes; a candidate whose pooled fit fails has no ticker.
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
): Promise<CandidateFits> {
  const settings = choice.candidates.map((candidate) => withWarmUp(candidate.settings, choice));
  const signal = untilTrialFails(options);
  const shared = await SharedPanels.compare(read, settings, options.workFolder, signal);
  const { panels } = shared.of(shared.firstWithPanels(settings)).prepared;
  requireCurrentTicker(panels.map(datesOf), asOf);
  const blocks = refitBlocks(panels, options.settings.refitEvery);
  await requireRoomForAll(shared, settings, blocks, { ...options, signal }, context);
  const runs = new CandidateRuns(
    choice,
    asOf,
    { shared, settings, blocks, panels },
    options,
    context,
    onFits,
  );
  const dropped = choice.racing ? await raceCandidates(runs, choice, signal) : await withoutRace(runs);
  shared.remove();
  return { outcomes: runs.outcomes, bases: runs.bases, dropped };
}

async function withoutRace(runs: CandidateRuns): Promise<DroppedCandidates> {
  await runs.run(runs.candidates, ALL_FITS);
  return NONE_DROPPED;
}

/** @throws MucastError out_of_memory if the largest fit of a pooled candidate does not fit into the memory of this machine. */
async function requireRoomForAll(
  shared: SharedPanels<ListedPanel>,
  settings: readonly MlSettings[],
  blocks: readonly RefitBlock[],
  { pool, signal }: Pick<FitOptions, "pool" | "signal">,
  context: JobContext,
): Promise<void> {
  const limit = memoryLimitOf(context);
  if (limit === undefined) return;
  const pooled = settings.filter(({ fit }) => fit === "pooled");
  for (const [{ prepared }, own] of Map.groupBy(pooled, (one) => shared.of(one))) {
    await requireRoom(prepared.panels, own, blocks, { limit, held: pool.heldBytes() }, signal);
  }
}
