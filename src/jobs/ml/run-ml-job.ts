import { type MlSettings, parseMlSettings, seedOf } from "../../contract/config/ml-settings.ts";
import { trialColumns } from "../../contract/model-params/column-demands.ts";
import type { Failure } from "../../contract/output/output-blob.ts";
import type { ResultRecord } from "../../contract/output/result-record.ts";
import { librariesFor } from "../../engine/pool/protocol.ts";
import { datesOf, type PanelDates } from "../../panel/as-of.ts";
import type { TickerPanel } from "../../panel/ticker-panel.ts";
import {
  type JobContext,
  type JobEngine,
  type JobRequest,
  withEngine,
  withMemoryGuard,
} from "../shared/job.ts";
import { provenance } from "../shared/job-document.ts";
import { openPlace } from "../shared/job-output.ts";
import { type Inputs, openInputs } from "../shared/read-inputs.ts";
import { checkCurrent, checkLeft } from "../shared/require-forecasts.ts";
import { together } from "../shared/run-concurrently.ts";
import { evaluateInTurns } from "../shared/score-tables.ts";
import { tickerWarnings } from "../shared/ticker-warnings.ts";
import { FitTimings, now, type Timed, timed } from "../shared/timings.ts";
import { type FitOutcome, fitTickers } from "./fit-tickers.ts";
import { evaluateMl, mlEvaluationUnits, mlOutput } from "./ml-output.ts";

/**
 * One regressor per ticker: reads both blobs, fits every walk-forward fold and the final model, and leaves one
 * output blob. The engine imports its libraries while the blobs are read, and fits while features still arrive.
 *
 * @throws MucastError of every code in docs/errors.md with an exit code; then no output is left.
 */
export function runMlJob(request: JobRequest, context: JobContext): Promise<ResultRecord> {
  return withMemoryGuard(context, (guarded) => fitAndLeave(request, guarded));
}

async function fitAndLeave(request: JobRequest, context: JobContext): Promise<ResultRecord> {
  const { settings, warnings } = parseMlSettings(request.config);
  for (const warning of warnings) context.report({ kind: "warning", warning });
  const place = await openPlace("run_ml_job", request, context);
  const need = {
    environment: "ml",
    libraries: librariesFor(settings.estimator.library, settings.scaler),
    workers: context.workers,
    memoryBytes: context.memoryBytes,
  } as const;
  return withEngine(need, context, async (engine) => {
    const { inputs, outcome } = await readAndFit(request, context, settings, engine);
    const { fitted } = outcome;
    const units = mlEvaluationUnits(fitted.length);
    const evaluation = await evaluateInTurns(evaluateMl(fitted, settings.intervals), units, context);
    const aboutTickers = tickerWarnings(inputs, fitted, evaluation.warnings);
    const { versions } = await engine.pool.greeting;
    const document = mlOutput({
      id: request.id,
      createdAt: new Date(),
      window: inputs.window,
      asOf: inputs.asOf,
      settings,
      evaluation,
      warnings: [...warnings, ...inputs.warnings, ...aboutTickers],
      failures: outcome.failures,
      provenance: provenance({
        digests: inputs.digests(),
        config: request.config,
        engineVersions: versions,
        seed: seedOf(settings),
        device: "cpu",
      }),
    });
    const news = { warnings: aboutTickers, failures: outcome.failures };
    return timed(context, "write", () => place.leave(document, news, context));
  });
}

/**
 * Reads both blobs and fits every ticker, each as soon as it is read; meanwhile the engine imports its libraries
 * and tries the parameters on synthetic rows, which every fit waits for.
 * @throws MucastError invalid_model_params of the trial fit; what reading and fitting throw; insufficient_history,
 *   all_failed or no_forecast where nothing useful is left. The first fault stops everything else, and nothing is
 *   still running when it is thrown.
 */
export async function readAndFit(
  request: JobRequest,
  context: JobContext,
  settings: MlSettings,
  engine: Pick<JobEngine, "pool" | "workFolder">,
): Promise<{ inputs: Inputs; outcome: FitOutcome }> {
  const [, done] = await together(
    context.signal,
    (signal) => tryParameters(settings, engine, { ...context, signal }),
    (signal, trial) => fitInputs(request, { ...context, signal }, settings, engine, trial),
  );
  return done;
}

async function tryParameters(
  { estimator, scaler, columnDemands }: MlSettings,
  { pool }: Pick<JobEngine, "pool">,
  { signal, onTiming }: JobContext,
): Promise<void> {
  const greeted = pool.greeting.then(now, now);
  const columns = trialColumns(columnDemands);
  await pool.run({ task: "trial", estimator, scaler, columns }, { signal });
  onTiming?.({ name: "trial fit", start: await greeted, end: now() });
}

async function fitInputs(
  request: JobRequest,
  context: JobContext,
  settings: MlSettings,
  { pool, workFolder }: Pick<JobEngine, "pool" | "workFolder">,
  ready: Promise<unknown>,
): Promise<{ inputs: Inputs; outcome: FitOutcome }> {
  const { report, signal, workers } = context;
  const inputs = await timed(context, "read prices", () => openInputs(request, context, workFolder));
  for (const warning of inputs.warnings) report({ kind: "warning", warning });
  try {
    const outcome = await fitTickers(withForecast(inputs, context), {
      settings,
      pool,
      workers,
      workFolder,
      signal,
      ready,
      expectedTickers: inputs.priceTickers,
      timings: new FitTimings(context),
      onFits: ({ done, planned, complete }) => {
        report({ kind: "progress", stage: "fit", done, ...(complete ? { total: planned } : {}) });
      },
    });
    const dates = outcome.fitted.map((ticker) => ticker.dates);
    checkLeft(dates, outcome.failures, inputs.asOf);
    return { inputs, outcome };
  } finally {
    await inputs.close();
  }
}

/** The panels; once all are read and none can have a `mu`, the job ends before the fits do. */
async function* withForecast(inputs: Inputs, { onTiming }: Timed): AsyncGenerator<TickerPanel | Failure> {
  const dates: PanelDates[] = [];
  const start = now();
  for await (const panel of inputs.panels()) {
    if (!("code" in panel)) dates.push(datesOf(panel));
    yield panel;
  }
  onTiming?.({ name: "read features", start, end: now() });
  checkCurrent(dates, inputs.asOf);
}
