import type { MlSettings } from "../../contract/config/ml-settings.ts";
import { recordsRefits } from "../../contract/config/panel-settings.ts";
import { defaultMemoryBytes } from "../../contract/machine/machine-memory.ts";
import { compareCodePoints } from "../../contract/market/ticker-series.ts";
import type { Failure } from "../../contract/problems/problem.ts";
import type { Warning } from "../../contract/problems/warnings.ts";
import { hasLateForecasts } from "../../panel/late-ticker.ts";
import { type RefitBlock, refitBlocks } from "../../panel/refit-blocks.ts";
import type { TickerPanel } from "../../panel/ticker-panel.ts";
import type { ComparedPanels, ReadPanels } from "../shared/choice/compared-panels.ts";
import type { JobContext } from "../shared/job.ts";
import { failuresWithout, featuresOf, type LateTickers } from "../shared/late-tickers.ts";
import { type PanelFiles, panelsInMemory, writePanels } from "../shared/panel-files.ts";
import { type Prepared, preparePanels } from "../shared/prepare-panels.ts";
import { noRefit } from "../shared/ticker-warnings.ts";
import { fitPooled, type PooledOutcome } from "./fit-pooled.ts";
import type { FitOptions } from "./fit-ticker.ts";
import { type FitOutcome, type FitProgress, fitTickers } from "./fit-tickers.ts";
import { type FeatureGroup, groupFeatures } from "./importance/feature-groups.ts";
import { listedOfFeatures } from "./plan-fits.ts";
import type { ListedPanel } from "./pooled-tickers.ts";

/** The results of the fits, and the blocks of score rows that they were planned for. */
export type BlockedOutcome = PooledOutcome & {
  readonly blocks: readonly RefitBlock[];
  /** With `importance`: the groups of features that the folds shuffled. */
  readonly groups?: readonly FeatureGroup[];
};

/** Called after each fit; `total` is undefined while the job still plans fits. */
export type OnFits = (done: number, total: number | undefined) => void;

export function perTickerOutcome(
  outcome: FitOutcome,
  blocks: readonly RefitBlock[],
  warnings: readonly Warning[] = [],
): BlockedOutcome {
  return { ...outcome, blocks, listed: [], warnings };
}

export function progressOf(onFits: OnFits): (progress: FitProgress) => void {
  return ({ done, planned, isComplete }) => onFits(done, isComplete ? planned : undefined);
}

/** Whether something needs the rows of all tickers before the first is fitted. */
export function comparesTickers(settings: MlSettings): boolean {
  const { fit, target, crossSection, choice, importance } = settings;
  return (
    fit === "pooled" ||
    target === "relative" ||
    crossSection ||
    choice !== undefined ||
    importance ||
    recordsRefits(settings)
  );
}

type Read = (signal: AbortSignal) => AsyncIterable<TickerPanel | Failure>;

/** Reads all tickers into files of the work folder. @throws MucastError of the reading; at once if the trial fit fails. */
export function readPanels(read: Read, options: FitOptions): Promise<PanelFiles<ListedPanel>> {
  const { settings, workFolder, signal } = options;
  const keep = (panel: TickerPanel) => ({ listed: listedOfFeatures(panel, settings) });
  return writePanels(read(untilTrialFails(options)), workFolder, signal, keep);
}

/** The job's signal, which a failed trial aborts too. */
export function untilTrialFails({ signal, trial }: Pick<FitOptions, "signal" | "trial">): AbortSignal {
  const fault = new AbortController();
  trial.catch((error: unknown) => fault.abort(error));
  return AbortSignal.any([signal, fault.signal]);
}

/** Panels whose tickers were compared, and the blocks of their score rows. */
export type ReadyPanels = ComparedPanels<ListedPanel> & { readonly blocks: readonly RefitBlock[] };

/** Compares the tickers, in files that replace those that were read. @throws MucastError of `preparePanels`. */
export function comparePanels({ files, late }: ReadPanels<ListedPanel>, options: FitOptions): ReadyPanels {
  const { settings, workFolder } = options;
  const prepared = preparePanels(files, settings, workFolder);
  return { prepared, late, blocks: refitBlocks(prepared.panels, settings.refitEvery) };
}

/** The memory limit of pooled fits on this machine, in bytes; undefined on a cluster. */
export function memoryLimitOf({
  memoryBytes,
  cluster,
}: Pick<JobContext, "memoryBytes" | "cluster">): number | undefined {
  return cluster === undefined ? (memoryBytes ?? defaultMemoryBytes()) : undefined;
}

export async function fitCompared(
  ready: ReadyPanels,
  options: FitOptions,
  { memoryBytes, cluster }: Pick<JobContext, "memoryBytes" | "cluster">,
  onFits: OnFits,
): Promise<BlockedOutcome> {
  const { settings } = options;
  const { prepared, late, blocks } = ready;
  const grouped = settings.importance
    ? { groups: groupFeatures(prepared.panels, settings.fit === "pooled") }
    : {};
  const warnings = [...prepared.warnings, ...noRefit(blocks, settings)];
  if (settings.fit === "per_ticker") {
    const outcome = await fitTickers(() => readAgain(ready), {
      ...options,
      ...grouped,
      blocks,
      onFits: progressOf(onFits),
    });
    return { ...perTickerOutcome(outcome, blocks, warnings), ...grouped };
  }
  const memoryLimit = memoryLimitOf({ memoryBytes, cluster });
  const { panels, failures: short } = await withLate(late, prepared, blocks, options);
  const outcome = await fitPooled(panels, { ...options, ...grouped, blocks, onFits, memoryLimit });
  const failures = [...failuresWithout(outcome.failures, short), ...outcome.failures];
  return {
    ...outcome,
    ...grouped,
    blocks,
    failures: failures.sort((a, b) => compareCodePoints(a.ticker, b.ticker)),
    warnings: [...warnings, ...outcome.warnings],
  };
}

/** The panels, then those that join late and have something to forecast, then the failures of the rest. */
function* readAgain({ prepared, late, blocks }: ReadyPanels): Generator<TickerPanel | Failure> {
  yield* panelsInMemory({ panels: prepared.panels, failures: [] });
  const joined: Pick<TickerPanel, "ticker">[] = [];
  for (const panel of late?.join(prepared.peers, blocks, {}) ?? []) {
    if (!hasLateForecasts(panel)) continue;
    joined.push({ ticker: panel.ticker });
    yield panel;
  }
  yield* failuresWithout(joined, prepared.failures);
}

async function withLate(
  late: LateTickers | undefined,
  prepared: Prepared<ListedPanel>,
  blocks: readonly RefitBlock[],
  { workFolder, signal }: FitOptions,
): Promise<PanelFiles<ListedPanel>> {
  if (late === undefined) return prepared;
  // The features of a pooled fit are those of the other tickers, and so are their scales.
  const keep = () => ({ listed: [] });
  const joining = late.join(prepared.peers, blocks, { features: featuresOf(prepared.panels) });
  const { panels } = await writePanels(joining, workFolder, signal, keep, "joined");
  return {
    panels: [...prepared.panels, ...panels],
    failures: failuresWithout(
      panels.filter((panel) => hasLateForecasts(panel)),
      prepared.failures,
    ),
  };
}
