import { type DlSettings, parseDlSettings } from "../../contract/config/dl-settings.ts";
import { MIN_ORDER_TICKERS } from "../../contract/output/later-close.ts";
import { networkLibraries } from "../../engine/environment/engine-status.ts";
import { jointThreads } from "../../engine/pool/cluster-capacity.ts";
import { datesOf } from "../../panel/as-of.ts";
import { ONE_BLOCK, type RefitBlock, refitBlocks } from "../../panel/refit-blocks.ts";
import type { TickerInput } from "../../panel/ticker-panel.ts";
import type { ChoiceResult } from "../shared/choice/choice-result.ts";
import { type ComparedPanels, type ReadPanels, SharedPanels } from "../shared/choice/compared-panels.ts";
import type { JobContext, JobEngine, JobRequest } from "../shared/job.ts";
import { type JobFits, plain } from "../shared/job-document.ts";
import type { JobKind, ReadAndFitted } from "../shared/job-kind.ts";
import { failuresWithout, LateTickers } from "../shared/late-tickers.ts";
import { chosenEarly } from "../shared/listed-warnings.ts";
import { type PanelOnDisk, writePanels } from "../shared/panel-files.ts";
import { type Inputs, openInputs } from "../shared/read-inputs.ts";
import { recordedDl } from "../shared/recorded-settings.ts";
import { requireCurrentTicker, requireForecasts } from "../shared/require-forecasts.ts";
import { runConcurrently } from "../shared/run-concurrently.ts";
import { noRefit } from "../shared/ticker-warnings.ts";
import { FitTimings, timed } from "../shared/timings.ts";
import { openWorkFolder } from "../shared/work-folder.ts";
import { DISABLED, previewDl } from "./dl-preview.ts";
import { planJointNetwork } from "./plan-joint-network.ts";
import { planTickerNetworks } from "./plan-ticker-networks.ts";
import { modelledOf, type NetworkPlan } from "./planned-network.ts";
import { failedPlan, type PlannedCandidate, trainCandidates } from "./train-candidates.ts";
import { blockTrainingOf, type TrainOutcome } from "./trained-blocks.ts";

/** The kind of run_dl_job: networks, one per ticker or one for all. */
export const NETWORKS: JobKind<DlSettings> = {
  environment: "dl",
  parse,
  libraries: (settings) =>
    settings.enabled ? [...new Set(candidatesOf(settings).flatMap(networkLibraries))] : undefined,
  fit: (request, context, settings, engine) =>
    engine === undefined
      ? readDisabled(request, context, settings)
      : readAndTrain(request, context, settings, engine),
  recorded: recordedDl,
  candidates: candidatesOf,
  seed: ({ seed }) => seed,
  model: ({ network }) => network.architecture,
  fitKind: (settings) => (settings.every(({ joint }) => joint) ? "joint" : "per_ticker"),
  preview: previewDl,
};

function parse(config: string): ReturnType<typeof parseDlSettings> {
  const { settings, warnings } = parseDlSettings(config);
  return { settings, warnings: settings.enabled ? warnings : [...warnings, DISABLED] };
}

function candidatesOf(settings: DlSettings): readonly DlSettings[] {
  return settings.choice?.candidates.map((candidate) => candidate.settings) ?? [settings];
}

/**
 * Reads both blobs while the engine imports its libraries and looks for the device. Then plans every network, and trains only if
 * all of them can be built.
 * @throws MucastError device_unavailable; errors of reading, planning and training; insufficient_history, all_failed or
 * no_forecast if no ticker has a forecast. The first fault stops everything else, and is thrown once nothing is running.
 */
async function readAndTrain(
  request: JobRequest,
  context: JobContext,
  settings: DlSettings,
  { pool, workFolder }: Pick<JobEngine, "pool" | "workFolder">,
): Promise<ReadAndFitted> {
  const [{ device }, { inputs, planned, blocks, exposures, warnings }] = await runConcurrently(
    context.signal,
    (signal) => pool.run({ task: "device", device: settings.device }, { signal }),
    (signal) => readAndPlan(request, { ...context, signal }, settings, workFolder),
  );
  const { signal, report } = context;
  const capacity = await pool.capacity;
  const options = {
    ...{ pool, device, signal, report, timings: new FitTimings(context) },
    threads: jointThreads(capacity),
    slots: capacity.slots,
    gpus: capacity.gpus,
  };
  const outcome = await trainCandidates(planned, options, settings.choice);
  const dates = outcome.trained.map((ticker) => ticker.dates);
  requireForecasts(dates, outcome.failures, inputs);
  const { trained, training } = outcome;
  return {
    inputs,
    fits: fitsOf(outcome, blocks),
    rows: trained.some(({ calibration }) => calibration.days.length > 0) ? "calibration" : "validation",
    blocks,
    exposures,
    warnings: [...warnings, ...outcome.warnings],
    listed: chosenEarly(training),
    device,
  };
}

type Outcome = TrainOutcome & { readonly choice?: ChoiceResult };

function fitsOf(
  { trained, failures, training, blockTraining, blockRows, choice }: Outcome,
  blocks: readonly RefitBlock[],
): JobFits {
  return {
    tickers: trained.map(modelledOf),
    failures,
    blockRows,
    training: plain(training),
    blockTraining: new Map(
      [...blockTraining].map(([name, own]) => [name, () => blockTrainingOf(own, blocks.length)]),
    ),
    choice,
  };
}

interface ReadAndPlanned extends Pick<ReadAndFitted, "inputs" | "warnings" | "blocks" | "exposures"> {
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
    const { prepared, blocks, planned } = await planCandidates(
      { files, late },
      settings,
      workFolder,
      inputs,
      context.signal,
    );
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
  signal: AbortSignal,
) {
  const candidates = settings.choice?.candidates ?? [{ label: "", settings }];
  const all = candidates.map((candidate) => candidate.settings);
  const shared = SharedPanels.compare(read, all, workFolder);
  const { prepared } = shared.of(settings);
  const { panels } = shared.of(shared.firstWithPanels(all)).prepared;
  requireCurrentTicker(panels.map(datesOf), inputs.asOf);
  const blocks = refitBlocks(panels, settings.refitEvery);
  const planned: PlannedCandidate[] = [];
  for (const candidate of candidates) {
    const own = candidate.settings;
    const plan = await planCandidate(shared.linked(own), own, blocks, signal).catch((error: unknown) => {
      if (candidates.length === 1) throw error;
      return failedPlan(error, tickersOf(shared.of(own)));
    });
    planned.push({ candidate, plan });
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

async function planCandidate(
  { prepared, late, folder }: ComparedPanels<PanelOnDisk> & { readonly folder: string },
  settings: DlSettings,
  blocks: readonly RefitBlock[],
  signal: AbortSignal,
): Promise<NetworkPlan> {
  const planNetworks = settings.joint ? planJointNetwork : planTickerNetworks;
  const joining = late!.join(prepared.peers, blocks, { lookback: settings.lookback });
  const { panels: joined } = await writePanels(joining, folder, signal, () => ({}), "joined");
  const plan = planNetworks([...prepared.panels, ...joined], settings, folder, blocks);
  const short = failuresWithout(
    plan.joined.map((ticker) => ({ ticker })),
    prepared.failures,
  );
  return { ...plan, failures: [...short, ...plan.failures] };
}

/**
 * Reads both blobs for a config that is switched off: the output shows their window and digests. Trains nothing.
 * @throws MucastError of reading them.
 */
async function readDisabled(
  request: JobRequest,
  context: JobContext,
  { delay }: Pick<DlSettings, "delay">,
): Promise<ReadAndFitted> {
  const work = openWorkFolder();
  try {
    const inputs = await openInputs(request, context, work.path, delay);
    try {
      for (const warning of inputs.warnings) context.report({ kind: "warning", warning });
      for await (const _ of inputs.panels()) context.signal.throwIfAborted();
      return {
        inputs,
        fits: { tickers: [], failures: [], training: new Map(), blockTraining: new Map() },
        rows: "validation",
        blocks: ONE_BLOCK,
        exposures: undefined,
        warnings: [],
        listed: [],
        device: "none",
      };
    } finally {
      await inputs.close();
    }
  } finally {
    work.remove();
  }
}
