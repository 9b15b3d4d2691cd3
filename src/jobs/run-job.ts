import type { Operation } from "../contract/config/job-operations.ts";
import type { ResultRecord } from "../contract/output/result-record.ts";
import { warningEntry } from "../contract/problems/warnings.ts";
import { NETWORKS } from "./dl/networks.ts";
import { REGRESSORS } from "./ml/regressors.ts";
import type { JobKind, JobSettings } from "./plan.ts";
import { evaluateForecasts } from "./shared/evaluate-forecasts.ts";
import { type JobContext, type JobRequest, withMemoryGuard } from "./shared/job.ts";
import { jobDocument } from "./shared/job-document.ts";
import { openResult, runSummary } from "./shared/job-output.ts";
import { tickerWarnings, wildForecasts } from "./shared/job-warnings.ts";
import { joinedPieces, orderedPieces } from "./shared/ordered-json.ts";
import { provenance } from "./shared/provenance.ts";
import { readAndFit } from "./shared/read-and-fit.ts";
import { smoothTickers } from "./shared/smooth-tickers.ts";
import { timed } from "./shared/timings.ts";

export type Jobs = Readonly<
  Record<Operation, (request: JobRequest, context: JobContext) => Promise<ResultRecord>>
>;

export function runMlJob(request: JobRequest, context: JobContext): Promise<ResultRecord> {
  return withMemoryGuard(context, (guarded) => runJob("run_ml_job", REGRESSORS, request, guarded));
}

/** Neural networks, one per ticker or one for all. A config that is switched off trains nothing. @throws like runJob. */
export function runDlJob(request: JobRequest, context: JobContext): Promise<ResultRecord> {
  return withMemoryGuard(context, (guarded) => runJob("run_dl_job", NETWORKS, request, guarded));
}

export const JOBS: Jobs = { run_ml_job: runMlJob, run_dl_job: runDlJob };

/**
 * From a config and two blobs to one output: parse, read, plan, fit, choose, evaluate, write. The engine imports its libraries while the job
 * reads the blobs, and is closed once every model is fitted.
 * @throws MucastError of every code in docs/errors.md with an exit code; the job then leaves no output.
 */
async function runJob<S extends JobSettings<S>>(
  operation: Operation,
  kind: JobKind<S>,
  request: JobRequest,
  context: JobContext,
): Promise<ResultRecord> {
  const { settings, warnings } = kind.parse(request.config);
  for (const warning of warnings) context.report({ kind: "warning", warning });
  const output = await openResult(operation, operation, request, context);

  const fitted = await readAndFit(kind, request, context, settings);
  const { inputs, rows, blocks, exposures, device, engine } = fitted;
  const fits = smoothTickers(fitted.fits, settings.smoothing?.half_life);
  const evaluation = await timed(context, "evaluate", () =>
    evaluateForecasts(fits.tickers, rows, settings, inputs.asOf, blocks, exposures),
  );
  const tickers = fits.tickers.length;
  context.report({ kind: "progress", stage: "evaluate", done: tickers, total: tickers });
  const listed = [...fits.listed, ...wildForecasts(evaluation.tickers)];
  const found = [...fits.warnings, ...tickerWarnings(inputs, fits.tickers, evaluation.warnings, listed)];
  const candidates = settings.choice?.candidates.map((candidate) => candidate.settings) ?? [settings];
  const document = jobDocument({
    operation,
    id: request.id,
    createdAt: new Date(),
    window: inputs.window,
    asOf: inputs.asOf,
    fits,
    evaluation,
    intervals: settings.intervals,
    shrinkage: settings.shrinkage,
    model: kind.recorded(settings),
    candidates: candidates.map(kind.recorded),
    warnings: [...warnings, ...inputs.warnings, ...found],
    tags: request.tags,
    machine: engine.machine,
    provenance: provenance({
      operation,
      digests: inputs.digests(),
      config: request.config,
      window: request.window,
      engine,
      recorded: request.recorded,
      seed: kind.seed(settings),
      device,
    }),
  });
  const summary = runSummary({
    model: kind.model(settings).name,
    choice: settings.choice,
    fit: candidates.map(kind.fit).find((fit) => fit === "per_ticker") ?? kind.fit(settings),
    asOf: inputs.asOf,
    tickers: evaluation.tickers,
    failures: fits.failures,
    tables: evaluation.tables,
  });
  return timed(context, "write", () => {
    for (const warning of found)
      if (!warningEntry(warning.code)?.isNote) context.report({ kind: "warning", warning });
    for (const failure of fits.failures) context.report({ kind: "failure", failure });
    context.report({ kind: "summary", summary });
    return output.write(joinedPieces(orderedPieces(document)), context);
  });
}
