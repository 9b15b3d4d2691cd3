import type { DlSettings } from "../../contract/config/dl-settings.ts";
import { compareCodePoints } from "../../contract/market/ticker-series.ts";
import { MIN_ORDER_TICKERS } from "../../contract/output/order-name.ts";
import type { Warning } from "../../contract/problems/warnings.ts";
import { jointThreads } from "../../engine/pool/cluster-capacity.ts";
import { datesOf } from "../../panel/as-of.ts";
import { ONE_BLOCK, type RefitBlock, refitBlocks } from "../../panel/refit-blocks.ts";
import type { TickerInput } from "../../panel/ticker-panel.ts";
import { type ComparedPanels, type ReadPanels, SharedPanels } from "../shared/choice/compared-panels.ts";
import type { JobContext, JobEngine, JobRequest } from "../shared/job.ts";
import { failuresWithout, LateTickers } from "../shared/late-tickers.ts";
import { type PanelOnDisk, writePanels } from "../shared/panel-files.ts";
import { type Inputs, openInputs } from "../shared/read-inputs.ts";
import { requireCurrentTicker, requireForecasts } from "../shared/require-forecasts.ts";
import { runConcurrently } from "../shared/run-concurrently.ts";
import type { Exposures } from "../shared/score-tables.ts";
import { noRefit } from "../shared/ticker-warnings.ts";
import { FitTimings, timed } from "../shared/timings.ts";
import { openWorkFolder } from "../shared/work-folder.ts";
import type { CandidateNetworks, TrainedCandidates } from "./candidate-networks.ts";
import { type CombinedNetworks, combineNetworks } from "./combine-networks.ts";
import { planJointNetwork } from "./plan-joint-network.ts";
import { planTickerNetworks } from "./plan-ticker-networks.ts";
import type { NetworkPlan } from "./planned-network.ts";
import { failedPlan, type PlannedCandidate, trainCandidates } from "./train-candidates.ts";
import type { TrainOutcome } from "./trained-blocks.ts";

/** The contents of both blobs, and the networks trained on them. */
export interface ReadAndTrained {
  readonly inputs: Inputs;
  readonly outcome: TrainOutcome & Partial<Pick<CombinedNetworks, "choice">>;
  /** `cpu` or `cuda:N`; `none` if nothing was trained. */
  readonly device: string;
  /** Warnings about dates on which too few tickers can be compared, and about refits that change nothing. */
  readonly warnings: readonly Warning[];
  /** The blocks of the score rows. */
  readonly blocks: readonly RefitBlock[];
  /** Absent for too few tickers. */
  readonly exposures: Exposures | undefined;
}

/**
 * Reads both blobs while the engine imports its libraries and looks for the device. Then plans every network, and trains only if
 * all of them can be built.
 * @throws MucastError device_unavailable; errors of reading, planning and training; insufficient_history, all_failed or
 * no_forecast if no ticker has a forecast. The first fault stops everything else, and is thrown once nothing is running.
 */
export async function readAndTrain(
  request: JobRequest,
  context: JobContext,
  settings: DlSettings,
  { pool, workFolder }: Pick<JobEngine, "pool" | "workFolder">,
): Promise<ReadAndTrained> {
  const [{ device }, { inputs, planned, ...read }] = await runConcurrently(
    context.signal,
    (signal) => pool.run({ task: "device", device: settings.device }, { signal }),
    (signal) => readAndPlan(request, { ...context, signal }, settings, workFolder),
  );
  const { signal, report } = context;
  const capacity = await pool.capacity;
  const candidates = await trainCandidates(planned, {
    pool,
    device,
    threads: jointThreads(capacity),
    slots: capacity.slots,
    gpus: capacity.gpus,
    signal,
    report,
    timings: new FitTimings(context),
  });
  const outcome = outcomeOf(candidates, settings);
  const dates = outcome.trained.map((ticker) => ticker.dates);
  requireForecasts(dates, outcome.failures, inputs);
  return { inputs, outcome, device, ...read };
}

/** The outcome of the one candidate, or of the choice among several. */
function outcomeOf(candidates: TrainedCandidates, { choice }: DlSettings): ReadAndTrained["outcome"] {
  if (choice !== undefined) return combineNetworks(candidates, choice);
  const [{ outcome }] = candidates.outcomes as readonly [CandidateNetworks];
  const trained = [...candidates.bases.values()];
  return {
    ...outcome,
    trained,
    failures: outcome.failures.toSorted((a, b) => compareCodePoints(a.ticker, b.ticker)),
  };
}

interface ReadAndPlanned extends Pick<ReadAndTrained, "inputs" | "warnings" | "blocks" | "exposures"> {
  /** At least the config itself. */
  readonly planned: readonly PlannedCandidate[];
}

async function readAndPlan(
  request: JobRequest,
  context: JobContext,
  settings: DlSettings,
  workFolder: string,
): Promise<ReadAndPlanned> {
  const inputs = await timed(context, "read prices", () =>
    openInputs(request, context, workFolder, settings.delay),
  );
  try {
    for (const warning of inputs.warnings) context.report({ kind: "warning", warning });
    const late = new LateTickers(workFolder);
    const keep = settings.refitEvery === undefined ? undefined : (input: TickerInput) => late.keep(input);
    const files = await timed(context, "read features", () =>
      writePanels(inputs.panels(keep), workFolder, context.signal, () => ({})),
    );
    const { prepared, blocks, planned } = await planCandidates({ files, late }, settings, workFolder, inputs);
    const firsts = prepared.panels.flatMap(({ days, score }) =>
      [...score.subarray(0, 1)].map((row) => days[row]!),
    );
    const exposures =
      prepared.panels.length < MIN_ORDER_TICKERS && settings.refitEvery === undefined
        ? undefined
        : inputs.exposures(Math.min(...firsts));
    return {
      inputs,
      planned,
      blocks,
      exposures,
      warnings: [...prepared.warnings, ...noRefit(blocks, settings)],
    };
  } finally {
    await inputs.close();
  }
}

/** Plans the networks of every candidate. All have the same blocks of score rows. */
async function planCandidates(
  read: ReadPanels<PanelOnDisk>,
  settings: DlSettings,
  workFolder: string,
  inputs: Inputs,
) {
  const candidates = settings.choice?.candidates ?? [{ label: "", settings }];
  const all = candidates.map((candidate) => candidate.settings);
  const shared = SharedPanels.compare(read, all, workFolder);
  const { prepared } = shared.of(settings);
  const { panels } = shared.of(shared.firstWithPanels(all)).prepared;
  requireCurrentTicker(panels.map(datesOf), inputs.asOf);
  const blocks = refitBlocks(panels, settings.refitEvery);
  const planOrFailures = (own: DlSettings): NetworkPlan => {
    try {
      return planCandidate(shared.linked(own), own, blocks);
    } catch (error) {
      if (candidates.length === 1) throw error;
      return failedPlan(error, tickersOf(shared.of(own)));
    }
  };
  const planned: PlannedCandidate[] = [];
  for (const candidate of candidates) {
    planned.push({ candidate, plan: planOrFailures(candidate.settings) });
  }
  shared.remove();
  const first = planned.flatMap(({ plan }) => plan.networks.filter(({ block }) => block === 0));
  const failures = planned[0]!.plan.failures;
  requireForecasts(
    first.flatMap((network) => network.dates),
    failures,
    inputs,
  );
  return { prepared, blocks, planned };
}

function tickersOf({ prepared }: ComparedPanels<PanelOnDisk>): string[] {
  return prepared.panels.map(({ ticker }) => ticker);
}

function planCandidate(
  { prepared, late, folder }: ComparedPanels<PanelOnDisk> & { readonly folder: string },
  settings: DlSettings,
  blocks: readonly RefitBlock[],
): NetworkPlan {
  const planNetworks = settings.joint ? planJointNetwork : planTickerNetworks;
  const source = late!.source(prepared.peers);
  const { networks, joined, failures } = planNetworks(prepared.panels, settings, folder, blocks, source);
  late!.remove();
  const short = failuresWithout(
    joined.map((ticker) => ({ ticker })),
    prepared.failures,
  );
  return { networks, joined, failures: [...short, ...failures] };
}

/** The warning of a config that is switched off. */
export const DISABLED: Warning = {
  code: "disabled",
  message: "config.NN params.Dot prediction.status is false: nothing was trained, and mu is empty.",
};

/**
 * Reads both blobs for a config that is switched off: the output shows their window and digests. Trains nothing.
 * @throws MucastError of reading them.
 */
export async function readDisabled(
  request: JobRequest,
  context: JobContext,
  { delay }: Pick<DlSettings, "delay">,
): Promise<ReadAndTrained> {
  const work = openWorkFolder();
  try {
    const inputs = await openInputs(request, context, work.path, delay);
    try {
      for (const warning of inputs.warnings) context.report({ kind: "warning", warning });
      for await (const _ of inputs.panels()) context.signal.throwIfAborted();
      return {
        inputs,
        outcome: {
          trained: [],
          training: new Map(),
          blockTraining: new Map(),
          failures: [],
          warnings: [],
          blockRows: [],
        },
        device: "none",
        warnings: [],
        blocks: ONE_BLOCK,
        exposures: undefined,
      };
    } finally {
      await inputs.close();
    }
  } finally {
    work.remove();
  }
}
