import { type DlSettings, parseDlSettings } from "../../contract/config/dl-settings.ts";
import type { ResultRecord } from "../../contract/output/result-record.ts";
import { networkLibraries } from "../../engine/pool/protocol.ts";
import { type JobContext, type JobRequest, withEngine, withMemoryGuard } from "../shared/job.ts";
import { provenance } from "../shared/job-document.ts";
import { openPlace } from "../shared/job-output.ts";
import type { Inputs } from "../shared/read-inputs.ts";
import { evaluateInTurns } from "../shared/score-tables.ts";
import { tickerWarnings } from "../shared/ticker-warnings.ts";
import { timed } from "../shared/timings.ts";
import { dlEvaluationUnits, dlOutput, evaluateDl } from "./dl-output.ts";
import { DISABLED, readAndTrain, readDisabled } from "./read-and-train.ts";
import type { TrainOutcome } from "./train-networks.ts";

/**
 * Neural networks, one a ticker or one for all: reads both blobs, plans every network, trains them, and leaves one
 * output blob. The engine imports its libraries while the blobs are read. A config that is switched off trains
 * nothing, needs no engine, and leaves an output without forecasts.
 *
 * @throws MucastError of every code in docs/errors.md with an exit code; then no output is left.
 */
export function runDlJob(request: JobRequest, context: JobContext): Promise<ResultRecord> {
  return withMemoryGuard(context, (guarded) => trainAndLeave(request, guarded));
}

async function trainAndLeave(request: JobRequest, context: JobContext): Promise<ResultRecord> {
  const { settings, warnings: aboutConfig } = parseDlSettings(request.config);
  const warnings = settings.enabled ? aboutConfig : [...aboutConfig, DISABLED];
  for (const warning of warnings) context.report({ kind: "warning", warning });
  const place = await openPlace("run_dl_job", request, context);
  const work = settings.enabled ? makeForecasts : makeNone;
  const { inputs, outcome, versions, device } = await work(request, context, settings);
  const { trained } = outcome;
  const units = dlEvaluationUnits(trained.length);
  const evaluation = await evaluateInTurns(evaluateDl(trained, settings.intervals), units, context);
  const aboutTickers = tickerWarnings(inputs, trained, evaluation.warnings);
  const document = dlOutput({
    id: request.id,
    createdAt: new Date(),
    window: inputs.window,
    asOf: inputs.asOf,
    settings,
    evaluation,
    training: outcome.training,
    warnings: [...warnings, ...inputs.warnings, ...aboutTickers],
    failures: outcome.failures,
    provenance: provenance({
      digests: inputs.digests(),
      config: request.config,
      engineVersions: versions,
      seed: settings.seed,
      device,
    }),
  });
  const news = { warnings: aboutTickers, failures: outcome.failures };
  return timed(context, "write", () => place.leave(document, news, context));
}

/** What a job has made before it is judged. */
interface Made {
  readonly inputs: Inputs;
  readonly outcome: TrainOutcome;
  /** Of Python and of each library, by name. */
  readonly versions: Readonly<Record<string, string>>;
  readonly device: string;
}

function makeForecasts(request: JobRequest, context: JobContext, settings: DlSettings): Promise<Made> {
  const need = {
    environment: "dl",
    libraries: networkLibraries(settings),
    workers: context.workers,
    memoryBytes: context.memoryBytes,
  } as const;
  return withEngine(need, context, async (engine) => {
    const made = await readAndTrain(request, context, settings, engine);
    const { versions } = await engine.pool.greeting;
    return { ...made, versions };
  });
}

async function makeNone(request: JobRequest, context: JobContext): Promise<Made> {
  const inputs = await readDisabled(request, context);
  return {
    inputs,
    outcome: { trained: [], training: new Map(), failures: [] },
    versions: {},
    device: "none",
  };
}
