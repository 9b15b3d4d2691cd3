import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Candidate, Choice } from "../../contract/config/ml-candidates.ts";
import type { MlSettings } from "../../contract/config/ml-settings.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import { workFolderError } from "../../contract/errors/system-error.ts";
import type { Day } from "../../contract/market/dates.ts";
import type { Failure } from "../../contract/problems/problem.ts";
import { removeArray } from "../../engine/npy.ts";
import { datesOf } from "../../panel/as-of.ts";
import { walkForwardFolds } from "../../panel/folds.ts";
import type { RefitBlock } from "../../panel/refit-blocks.ts";
import type { PanelRows } from "../../panel/ticker-panel.ts";
import type { JobContext } from "../shared/job.ts";
import { linkPanels } from "../shared/panel-files.ts";
import { requireCurrentTicker } from "../shared/require-forecasts.ts";
import { FitTimings } from "../shared/timings.ts";
import type { FitOptions } from "./fit-ticker.ts";
import {
  type BlockedOutcome,
  comparePanels,
  fitCompared,
  type OnFits,
  type ReadPanels,
  type ReadyPanels,
} from "./fit-together.ts";
import { planFits, refusedColumns } from "./plan-fits.ts";

/** The finished fits of one candidate. */
export interface CandidateOutcome {
  readonly candidate: Candidate;
  readonly outcome: BlockedOutcome;
}

/**
 * Fits every candidate, one after another, on panels that were read once. Each fits the folds that only serve the choice too. All have the
 * blocks of score rows of the first, so that the members of a block know the same labels.
 * @param read its files are removed once the tickers are compared.
 * @returns one per candidate. A candidate whose pooled fit fails has no ticker.
 * @throws MucastError no_forecast if no ticker is current; errors of the engine that are not about one fit.
 */
export async function fitCandidates(
  read: ReadPanels,
  choice: Choice,
  asOf: Day,
  options: FitOptions,
  context: JobContext,
  onFits: OnFits,
): Promise<readonly CandidateOutcome[]> {
  const settings = choice.candidates.map((candidate) => withWarmUp(candidate.settings, choice));
  const compared = await compareForEach(read, settings, options);
  const readyFor = (own: MlSettings) => compared.get(panelKey(own))!;
  const { blocks, prepared } = readyFor(settings[0]!);
  requireCurrentTicker(prepared.panels.map(datesOf), asOf);
  const counts = settings.map((own) => fitCount(readyFor(own).prepared.panels, own, blocks));
  const total = read.late === undefined ? counts.reduce((sum, count) => sum + count, 0) : undefined;
  const outcomes: CandidateOutcome[] = [];
  let finished = 0;
  for (const [i, candidate] of choice.candidates.entries()) {
    const folder = newFolder(options.workFolder, `candidate${i}`);
    const ready = { ...linked(readyFor(settings[i]!), folder), blocks };
    const own = { ...options, settings: settings[i]!, workFolder: folder, timings: new FitTimings(context) };
    let last = 0;
    const outcome = await fitCompared(ready, own, context, (done) => {
      last = done;
      onFits(finished + done, total);
    }).catch((error: unknown) => failedOutcome(error, ready));
    finished += total === undefined ? last : counts[i]!;
    outcomes.push({ candidate, outcome });
  }
  for (const { prepared: panels } of compared.values()) for (const { x } of panels.panels) removeArray(x.ref);
  return outcomes;
}

/** The settings with the folds that only serve the choice. */
export function withWarmUp(settings: MlSettings, { warmUp }: Choice): MlSettings {
  return { ...settings, nSplits: settings.nSplits + warmUp };
}

/** Compares the tickers once for each way of comparing them that candidates ask for. */
async function compareForEach(
  { files, late }: ReadPanels,
  settings: readonly MlSettings[],
  options: FitOptions,
): Promise<ReadonlyMap<string, ReadyPanels>> {
  const compared = new Map<string, ReadyPanels>();
  for (const own of settings) {
    if (compared.has(panelKey(own))) continue;
    const folder = newFolder(options.workFolder, `compared${compared.size}`);
    const links = { ...files, panels: linkPanels(files.panels, folder) };
    const panels = { files: links, late: late?.linkedTo(folder) };
    compared.set(
      panelKey(own),
      await comparePanels(panels, { ...options, settings: own, workFolder: folder }),
    );
  }
  for (const { x } of files.panels) removeArray(x.ref);
  late?.remove();
  return compared;
}

/** Equal for settings that need the same panels. */
function panelKey({ target, crossSection }: MlSettings): string {
  return `${target} ${crossSection}`;
}

function linked({ prepared, late, blocks }: ReadyPanels, folder: string): ReadyPanels {
  const panels = linkPanels(prepared.panels, folder);
  return { prepared: { ...prepared, panels }, late: late?.linkedTo(folder), blocks };
}

/** @throws MucastError output_failed if the work folder's disk is full. */
function newFolder(workFolder: string, name: string): string {
  const path = join(workFolder, name);
  try {
    mkdirSync(path);
  } catch (cause) {
    throw workFolderError("written", cause);
  }
  return path;
}

/** The number of fits of a candidate, without those of late tickers. */
export function fitCount(
  panels: readonly PanelRows[],
  settings: MlSettings,
  blocks: readonly RefitBlock[],
): number {
  if (settings.fit === "pooled") {
    const { cvTestSize, nSplits } = settings;
    return walkForwardFolds(fitDates(panels), cvTestSize, nSplits).length + blocks.length;
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

/** A pooled fit that fails leaves its candidate without any ticker. @throws any other error. */
function failedOutcome(error: unknown, { prepared, blocks }: ReadyPanels): BlockedOutcome {
  if (!(error instanceof MucastError && error.code === "fit_failed")) throw error;
  const { code, message } = error;
  const failures = prepared.panels.map(({ ticker }): Failure => ({ ticker, code, message }));
  return { fitted: [], failures: [...prepared.failures, ...failures], blocks, listed: [], warnings: [] };
}
