import type { DlSettings } from "../../contract/config/dl-settings.ts";
import { compareCodePoints } from "../../contract/data/code-points.ts";
import type { Warning } from "../../contract/errors/warnings.ts";
import { inTurns } from "../../contract/machine/pausable.ts";
import { datesOf } from "../../panel/as-of.ts";
import type { JobContext, JobEngine, JobRequest } from "../shared/job.ts";
import { type Inputs, openInputs } from "../shared/read-inputs.ts";
import { checkCurrent, checkLeft } from "../shared/require-forecasts.ts";
import { together } from "../shared/run-concurrently.ts";
import { FitTimings, timed } from "../shared/timings.ts";
import { openWorkFolder } from "../shared/work-folder.ts";
import { planJointNetwork } from "./plan-joint-network.ts";
import { planTickerNetworks } from "./plan-ticker-networks.ts";
import { type NetworkPlan, writePanels } from "./planned-network.ts";
import { type TrainOutcome, trainNetworks } from "./train-networks.ts";

/** Both blobs, read, and what was made of them. */
export interface ReadAndTrained {
  readonly inputs: Inputs;
  readonly outcome: TrainOutcome;
  /** `cpu` or `cuda:N`. */
  readonly device: string;
}

/**
 * Reads both blobs while the engine imports its libraries and looks for the device; then plans every network, and
 * trains only when all of them can be built.
 * @throws MucastError device_unavailable; what reading, planning and training throw; insufficient_history,
 *   all_failed or no_forecast where nothing useful is left. The first fault stops everything else, and nothing is
 *   still running when it is thrown.
 */
export async function readAndTrain(
  request: JobRequest,
  context: JobContext,
  settings: DlSettings,
  { pool, workFolder }: Pick<JobEngine, "pool" | "workFolder">,
): Promise<ReadAndTrained> {
  const [{ device }, { inputs, plan }] = await together(
    context.signal,
    (signal) => pool.run({ task: "device", device: settings.device }, { signal }),
    (signal) => readAndPlan(request, { ...context, signal }, settings, workFolder),
  );
  const { signal, report, workers: threads } = context;
  const trained = await trainNetworks(plan.networks, {
    pool,
    device,
    threads,
    epochs: settings.training.epochs,
    signal,
    report,
    timings: new FitTimings(context),
  });
  const failures = [...plan.failures, ...trained.failures].sort((a, b) =>
    compareCodePoints(a.ticker, b.ticker),
  );
  checkLeft(
    trained.trained.map(({ dates }) => dates),
    failures,
    inputs.asOf,
  );
  return { inputs, outcome: { ...trained, failures }, device };
}

async function readAndPlan(
  request: JobRequest,
  context: JobContext,
  settings: DlSettings,
  workFolder: string,
): Promise<{ inputs: Inputs; plan: NetworkPlan }> {
  const inputs = await timed(context, "read prices", () => openInputs(request, context, workFolder));
  try {
    for (const warning of inputs.warnings) context.report({ kind: "warning", warning });
    const { panels, failures } = await timed(context, "read features", () =>
      writePanels(inputs, workFolder, context.signal),
    );
    checkCurrent(panels.map(datesOf), inputs.asOf);
    const planNetworks = settings.joint ? planJointNetwork : planTickerNetworks;
    const planning = planNetworks(panels, settings, workFolder);
    const { networks, failures: left } = await inTurns(planning, context.signal);
    const plan = { networks, failures: [...failures, ...left] };
    checkLeft(
      networks.flatMap(({ dates }) => dates),
      plan.failures,
      inputs.asOf,
    );
    return { inputs, plan };
  } finally {
    await inputs.close();
  }
}

/** Why an output has no forecasts. */
export const DISABLED: Warning = {
  code: "disabled",
  message: "config.NN params.Dot prediction.status is false: nothing was trained, and mu is empty.",
};

/**
 * Reads both blobs for the window and the digests that the output tells; nothing is made of their rows.
 * @throws MucastError of the reading.
 */
export async function readDisabled(request: JobRequest, context: JobContext): Promise<Inputs> {
  const work = openWorkFolder();
  try {
    const inputs = await openInputs(request, context, work.path);
    try {
      for (const warning of inputs.warnings) context.report({ kind: "warning", warning });
      for await (const _ of inputs.panels()) context.signal.throwIfAborted();
      return inputs;
    } finally {
      await inputs.close();
    }
  } finally {
    work.remove();
  }
}
