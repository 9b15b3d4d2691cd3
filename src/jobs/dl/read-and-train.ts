import type { DlSettings } from "../../contract/config/dl-settings.ts";
import { inTurns } from "../../contract/machine/pausable.ts";
import { compareCodePoints } from "../../contract/market/ticker-series.ts";
import type { Warning } from "../../contract/problems/warnings.ts";
import { jointThreads } from "../../engine/pool/cluster-capacity.ts";
import { datesOf } from "../../panel/as-of.ts";
import { ONE_BLOCK, type RefitBlock, refitBlocks } from "../../panel/refit-blocks.ts";
import type { TickerInput } from "../../panel/ticker-panel.ts";
import type { JobContext, JobEngine, JobRequest } from "../shared/job.ts";
import { failuresWithout, LateTickers } from "../shared/late-tickers.ts";
import { writePanels } from "../shared/panel-files.ts";
import { preparePanels } from "../shared/prepare-panels.ts";
import { type Inputs, openInputs } from "../shared/read-inputs.ts";
import { requireCurrentTicker, requireForecasts } from "../shared/require-forecasts.ts";
import { runConcurrently } from "../shared/run-concurrently.ts";
import { noRefit } from "../shared/ticker-warnings.ts";
import { FitTimings, timed } from "../shared/timings.ts";
import { openWorkFolder } from "../shared/work-folder.ts";
import { planJointNetwork } from "./plan-joint-network.ts";
import { planTickerNetworks } from "./plan-ticker-networks.ts";
import type { NetworkPlan } from "./planned-network.ts";
import { trainNetworks } from "./train-networks.ts";
import type { TrainOutcome } from "./trained-blocks.ts";

/** The contents of both blobs, and the networks trained on them. */
export interface ReadAndTrained {
  readonly inputs: Inputs;
  readonly outcome: TrainOutcome;
  /** `cpu` or `cuda:N`; `none` if nothing was trained. */
  readonly device: string;
  /** Warnings about dates on which too few tickers can be compared, and about refits that change nothing. */
  readonly warnings: readonly Warning[];
  /** The blocks of the score rows. */
  readonly blocks: readonly RefitBlock[];
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
  const [{ device }, { inputs, plan, ...planned }] = await runConcurrently(
    context.signal,
    (signal) => pool.run({ task: "device", device: settings.device }, { signal }),
    (signal) => readAndPlan(request, { ...context, signal }, settings, workFolder),
  );
  const { signal, report } = context;
  const capacity = await pool.capacity;
  const outcome = await trainNetworks(plan.networks, {
    pool,
    device,
    threads: jointThreads(capacity),
    slots: capacity.slots,
    gpus: capacity.gpus,
    ensemble: settings.ensemble,
    epochs: settings.training.epochs,
    refitStart: settings.refitStart,
    signal,
    report,
    timings: new FitTimings(context),
  });
  const failures = [...failuresWithout(outcome.failures, plan.failures), ...outcome.failures].sort((a, b) =>
    compareCodePoints(a.ticker, b.ticker),
  );
  const dates = outcome.trained.map((ticker) => ticker.dates);
  requireForecasts(dates, failures, inputs.asOf);
  return { inputs, outcome: { ...outcome, failures }, device, ...planned };
}

interface ReadAndPlanned extends Pick<ReadAndTrained, "inputs" | "warnings" | "blocks"> {
  readonly plan: NetworkPlan;
}

async function readAndPlan(
  request: JobRequest,
  context: JobContext,
  settings: DlSettings,
  workFolder: string,
): Promise<ReadAndPlanned> {
  const inputs = await timed(context, "read prices", () => openInputs(request, context, workFolder));
  try {
    for (const warning of inputs.warnings) context.report({ kind: "warning", warning });
    const late = new LateTickers(workFolder);
    const keep = settings.refitEvery === undefined ? undefined : (input: TickerInput) => late.keep(input);
    const written = await timed(context, "read features", () =>
      writePanels(inputs.panels(keep), workFolder, context.signal, () => ({})),
    );
    const read = await preparePanels(written, settings, workFolder, context.signal);
    requireCurrentTicker(read.panels.map(datesOf), inputs.asOf);
    const planNetworks = settings.joint ? planJointNetwork : planTickerNetworks;
    const blocks = refitBlocks(read.panels, settings.refitEvery);
    const { networks, joined, ...planned } = await inTurns(
      planNetworks(read.panels, settings, workFolder, blocks, late.source(read.peers)),
      context.signal,
    );
    late.remove();
    const joining = joined.map((ticker) => ({ ticker }));
    const failures = [...failuresWithout(joining, read.failures), ...planned.failures];
    const first = networks.filter(({ block }) => block === 0);
    const dates = first.flatMap((network) => network.dates);
    requireForecasts(dates, failures, inputs.asOf);
    const warnings = [...read.warnings, ...noRefit(blocks, settings)];
    return { inputs, plan: { networks, joined, failures }, warnings, blocks };
  } finally {
    await inputs.close();
  }
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
export async function readDisabled(request: JobRequest, context: JobContext): Promise<ReadAndTrained> {
  const work = openWorkFolder();
  try {
    const inputs = await openInputs(request, context, work.path);
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
      };
    } finally {
      await inputs.close();
    }
  } finally {
    work.remove();
  }
}
