import { type DlSettings, parseDlSettings } from "../../contract/config/dl-settings.ts";
import type { ResultRecord } from "../../contract/output/result-record.ts";
import { networkLibraries } from "../../engine/environment/engine-status.ts";
import { type JobContext, type JobRequest, withEngine, withMemoryGuard } from "../shared/job.ts";
import { type EngineFacts, engineFacts, NO_ENGINE, provenance } from "../shared/job-document.ts";
import { openJobOutput } from "../shared/job-output.ts";
import { chosenEarly } from "../shared/listed-warnings.ts";
import { runSummary } from "../shared/run-summary.ts";
import { tickerWarnings, wildForecasts } from "../shared/ticker-warnings.ts";
import { timed } from "../shared/timings.ts";
import { dlOutput, evaluateDl } from "./dl-output.ts";
import { DISABLED, type ReadAndTrained, readAndTrain, readDisabled } from "./read-and-train.ts";

/**
 * Neural networks, one per ticker or one for all: reads both blobs, plans every network, trains them, and writes one
 * output blob. The engine imports its libraries while the job reads the blobs. A config that is switched off trains
 * nothing, needs no engine, and writes an output without forecasts.
 *
 * @throws MucastError of every code in docs/errors.md with an exit code; the job then leaves no output.
 */
export function runDlJob(request: JobRequest, context: JobContext): Promise<ResultRecord> {
  return withMemoryGuard(context, (guarded) => trainEvaluateWrite(request, guarded));
}

async function trainEvaluateWrite(request: JobRequest, context: JobContext): Promise<ResultRecord> {
  const { settings, warnings: aboutConfig } = parseDlSettings(request.config);
  const warnings = settings.enabled ? aboutConfig : [...aboutConfig, DISABLED];
  for (const warning of warnings) context.report({ kind: "warning", warning });
  const output = await openJobOutput("run_dl_job", request, context);
  const {
    inputs,
    outcome,
    facts,
    device,
    warnings: aboutAll,
    blocks,
    exposures,
  } = settings.enabled
    ? await trainInEngine(request, context, settings)
    : { ...(await readDisabled(request, context, settings)), facts: NO_ENGINE };
  const { trained, training, blockTraining, failures, blockRows } = outcome;
  const evaluation = await timed(context, "evaluate", () =>
    evaluateDl(trained, settings, inputs.asOf, blocks, exposures),
  );
  context.report({ kind: "progress", stage: "evaluate", done: trained.length, total: trained.length });
  const listed = [...wildForecasts(evaluation.tickers), ...chosenEarly(training)];
  const aboutTickers = [
    ...aboutAll,
    ...outcome.warnings,
    ...tickerWarnings(inputs, trained, evaluation.warnings, listed),
  ];
  const document = dlOutput({
    id: request.id,
    createdAt: new Date(),
    window: inputs.window,
    asOf: inputs.asOf,
    settings,
    evaluation,
    training,
    blockRows,
    blockTraining,
    choice: outcome.choice,
    warnings: [...warnings, ...inputs.warnings, ...aboutTickers],
    failures,
    tags: request.tags,
    machine: facts.machine,
    provenance: provenance({
      operation: "run_dl_job",
      digests: inputs.digests(),
      config: request.config,
      window: request.window,
      engine: facts,
      recorded: request.recorded,
      seed: settings.seed,
      device,
    }),
  });
  const summary = runSummary({
    model: settings.network.architecture,
    choice: settings.choice,
    fit: candidatesOf(settings).every(({ joint }) => joint) ? "joint" : "per_ticker",
    asOf: inputs.asOf,
    tickers: evaluation.tickers,
    failures,
    tables: evaluation.tables,
  });
  return timed(context, "write", () =>
    output.write(document, { warnings: aboutTickers, failures, summary }, context),
  );
}

/** The modules that the networks of all candidates need. */
function librariesOf({ choice, ...own }: DlSettings): readonly string[] {
  const all = choice?.candidates.map((candidate) => candidate.settings) ?? [own];
  return [...new Set(all.flatMap(networkLibraries))];
}

/** Trains, and closes the engine before the job evaluates: nothing after training needs it. */
function trainInEngine(
  request: JobRequest,
  context: JobContext,
  settings: DlSettings,
): Promise<ReadAndTrained & { readonly facts: EngineFacts }> {
  const need = { environment: "dl", libraries: librariesOf(settings) } as const;
  return withEngine(need, context, async (engine) => {
    const trained = await readAndTrain(request, context, settings, engine);
    return { ...trained, facts: await engineFacts(engine.pool, "dl") };
  });
}

function candidatesOf(settings: DlSettings): readonly DlSettings[] {
  return settings.choice?.candidates.map((candidate) => candidate.settings) ?? [settings];
}
