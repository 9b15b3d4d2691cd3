import { type MlSettings, parseMlSettings, seedOf } from "../../contract/config/ml-settings.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import type { Day } from "../../contract/market/dates.ts";
import { trialColumns } from "../../contract/model-params/column-demands.ts";
import { MIN_ORDER_TICKERS } from "../../contract/output/order-name.ts";
import type { ResultRecord } from "../../contract/output/result-record.ts";
import type { Failure } from "../../contract/problems/problem.ts";
import type { Warning } from "../../contract/problems/warnings.ts";
import { regressorLibraries } from "../../engine/environment/engine-status.ts";
import { datesOf, type PanelDates } from "../../panel/as-of.ts";
import { ONE_BLOCK, type RefitBlock } from "../../panel/refit-blocks.ts";
import type { TickerPanel } from "../../panel/ticker-panel.ts";
import type { ChoiceResult } from "../shared/choice/choice-result.ts";
import {
  type JobContext,
  type JobEngine,
  type JobRequest,
  withEngine,
  withMemoryGuard,
} from "../shared/job.ts";
import { engineFacts, provenance } from "../shared/job-document.ts";
import { openJobOutput } from "../shared/job-output.ts";
import { LateTickers } from "../shared/late-tickers.ts";
import { type Inputs, openInputs } from "../shared/read-inputs.ts";
import { requireCurrentTicker, requireForecasts } from "../shared/require-forecasts.ts";
import { runConcurrently } from "../shared/run-concurrently.ts";
import { runSummary } from "../shared/run-summary.ts";
import type { Exposures } from "../shared/score-tables.ts";
import { tickerWarnings, wildForecasts } from "../shared/ticker-warnings.ts";
import { FitTimings, now, type Timed, timed } from "../shared/timings.ts";
import { combineCandidates } from "./candidates/combine-candidates.ts";
import { fitCandidates } from "./candidates/fit-candidates.ts";
import type { FitOptions } from "./fit-ticker.ts";
import { fitTickers } from "./fit-tickers.ts";
import {
  type BlockedOutcome,
  comparePanels,
  comparesTickers,
  fitCompared,
  type OnFits,
  perTickerOutcome,
  progressOf,
  readPanels,
} from "./fit-together.ts";
import { evaluateImportance, withoutPermuted } from "./importance/importance-output.ts";
import { evaluateMl, mlOutput } from "./ml-output.ts";

/**
 * One regressor per ticker, or one for all: reads both blobs, fits every walk-forward fold and the final model, and writes one
 * output blob. The engine imports its libraries while the job reads the prices, and fits while it reads the features.
 *
 * @throws MucastError of every code in docs/errors.md with an exit code; the job then leaves no output.
 */
export function runMlJob(request: JobRequest, context: JobContext): Promise<ResultRecord> {
  return withMemoryGuard(context, (guarded) => fitEvaluateWrite(request, guarded));
}

async function fitEvaluateWrite(request: JobRequest, context: JobContext): Promise<ResultRecord> {
  const { settings, warnings } = parseMlSettings(request.config);
  for (const warning of warnings) context.report({ kind: "warning", warning });
  const output = await openJobOutput("run_ml_job", request, context);
  const libraries = [...new Set(candidatesOf(settings).flatMap(librariesOf))];
  return withEngine({ environment: "ml", libraries }, context, async (engine) => {
    const { inputs, outcome, blocks, exposures } = await readAndFit(request, context, settings, engine);
    const { failures, warnings: aboutAll, pooled } = outcome;
    const importance = evaluateImportance(outcome);
    const fitted = withoutPermuted(outcome.fitted);
    const evaluation = await timed(context, "evaluate", () =>
      evaluateMl(fitted, settings, inputs.asOf, blocks, exposures),
    );
    context.report({ kind: "progress", stage: "evaluate", done: fitted.length, total: fitted.length });
    const listed = [...outcome.listed, ...wildForecasts(evaluation.tickers)];
    const aboutTickers = [
      ...aboutAll,
      ...zeroedWarnings(fitted, settings),
      ...tickerWarnings(inputs, fitted, evaluation.warnings, listed),
    ];
    const facts = await engineFacts(engine.pool, "ml");
    const document = mlOutput({
      id: request.id,
      createdAt: new Date(),
      window: inputs.window,
      asOf: inputs.asOf,
      settings,
      evaluation,
      pooled,
      choice: outcome.choice,
      importance,
      warnings: [...warnings, ...inputs.warnings, ...aboutTickers],
      failures,
      tags: request.tags,
      machine: facts.machine,
      provenance: provenance({
        operation: "run_ml_job",
        digests: inputs.digests(),
        config: request.config,
        window: request.window,
        engine: facts,
        recorded: request.recorded,
        seed: seedOf(settings),
        device: "cpu",
      }),
    });
    const summary = runSummary({
      model: settings.model.name,
      choice: settings.choice,
      fit: candidatesOf(settings).every(({ fit }) => fit === "pooled") ? "pooled" : "per_ticker",
      asOf: inputs.asOf,
      tickers: evaluation.tickers,
      failures,
      tables: evaluation.tables,
    });
    return timed(context, "write", () =>
      output.write(document, { warnings: aboutTickers, failures, summary }, context),
    );
  });
}

function candidatesOf(settings: MlSettings): readonly MlSettings[] {
  return settings.choice?.candidates.map((candidate) => candidate.settings) ?? [settings];
}

function librariesOf({ estimator, scaler }: MlSettings): readonly string[] {
  return regressorLibraries(estimator.library, scaler);
}

/** If no ticker has a fold, there is no evidence for any forecast, and the factor of `shrinkage` is 0. */
function zeroedWarnings(
  fitted: readonly { readonly folds: readonly unknown[] }[],
  { shrinkage }: Pick<MlSettings, "shrinkage">,
): Warning[] {
  // `own` warns for each ticker.
  if (shrinkage === "none" || shrinkage === "own" || fitted.some(({ folds }) => folds.length > 0)) return [];
  const model = shrinkage === "pooled" ? " mu_model has the model's own forecasts." : "";
  const message = `No ticker has a cross-validation fold, so the factor of shrinkage ${shrinkage} is 0.${model} Use smaller or fewer folds, more history, or shrinkage none.`;
  return [{ code: "fewer_folds", count: 0, message }];
}

/** The finished fits of a job. */
type MlOutcome = BlockedOutcome & {
  /** Present if the job tried several candidates. */
  readonly choice?: ChoiceResult;
};

interface ReadAndFitted {
  readonly inputs: Inputs;
  readonly outcome: Omit<MlOutcome, "blocks">;
  /** The blocks of score rows. */
  readonly blocks: readonly RefitBlock[];
  /** Absent for too few tickers. */
  readonly exposures: Exposures | undefined;
}

/**
 * Reads both blobs and fits every ticker, each as soon as it is read. Meanwhile the engine imports its libraries and
 * tries the parameters on synthetic rows; every fit waits for that trial.
 * @throws MucastError invalid_model_params of the trial fit; errors of reading and fitting; insufficient_history, all_failed or no_forecast
 * if no ticker has a forecast. The first error stops everything else, and is thrown once nothing is running.
 */
async function readAndFit(
  request: JobRequest,
  context: JobContext,
  settings: MlSettings,
  engine: JobEngine,
): Promise<ReadAndFitted> {
  const [, readAndFitted] = await runConcurrently(
    context.signal,
    (signal) => tryParameters(settings, engine, { ...context, signal }),
    (signal, trial) => fitInputs(request, { ...context, signal }, settings, engine, trial),
  );
  return readAndFitted;
}

/** The usual trial takes a fraction of a second; a task on a cluster may wait longer. */
const MAX_TRIAL_SECONDS = 60;

async function tryParameters(settings: MlSettings, { pool }: JobEngine, context: JobContext): Promise<void> {
  const { onTiming, cluster } = context;
  const greeted = pool.greeting.then(now, now);
  const limit = new AbortController();
  const signal = AbortSignal.any([context.signal, limit.signal]);
  const trials = candidatesOf(settings).map(({ estimator, scaler, columnDemands }) =>
    pool.run({ task: "trial", estimator, scaler, columns: trialColumns(columnDemands) }, { signal }),
  );
  const ended = Promise.allSettled(trials);
  await Promise.race([greeted, ended]);
  const message = `the trial fit on 60 rows takes more than ${MAX_TRIAL_SECONDS} seconds with these parameters`;
  const slow = new MucastError("invalid_model_params", message);
  const timer = setTimeout(() => cluster ?? limit.abort(slow), 1_000 * MAX_TRIAL_SECONDS);
  const outcomes = await ended;
  clearTimeout(timer);
  // The first error in the order of the candidates: which trial ends first depends on the workers.
  for (const [c, trial] of outcomes.entries()) {
    if (trial.status === "rejected") throw trialError(trial.reason, settings, c);
  }
  onTiming?.({ name: "trial fit", start: await greeted, end: now() });
}

/** Names the candidate, except the config itself. */
function trialError(error: unknown, { choice }: MlSettings, c: number): unknown {
  if (!(error instanceof MucastError && error.code === "invalid_model_params") || c === 0) return error;
  return new MucastError(
    error.code,
    `candidate ${c} (${choice!.candidates[c]!.label}): ${error.message}`,
    error.data,
  );
}

async function fitInputs(
  request: JobRequest,
  context: JobContext,
  settings: MlSettings,
  { pool, workFolder }: JobEngine,
  trial: Promise<void>,
): Promise<ReadAndFitted> {
  const { report, signal } = context;
  const engineFault = new AbortController();
  const reading = { ...context, signal: AbortSignal.any([signal, engineFault.signal]) };
  const inputs = await timed(context, "read prices", () =>
    openInputs(request, reading, workFolder, settings.delay),
  );
  for (const warning of inputs.warnings) report({ kind: "warning", warning });
  try {
    const late = settings.refitEvery === undefined ? undefined : new LateTickers(workFolder);
    const read = (fault: AbortSignal) => {
      fault.addEventListener("abort", () => engineFault.abort(fault.reason));
      return currentPanels(inputs, context, late);
    };
    const options: FitOptions = {
      settings,
      pool,
      workFolder,
      signal,
      trial,
      expectedTickers: inputs.priceTickers,
      timings: new FitTimings(context),
    };
    const onFits: OnFits = (done, total) =>
      report({ kind: "progress", stage: "fit", done, ...(total === undefined ? {} : { total }) });
    const { blocks, ...outcome }: MlOutcome = comparesTickers(settings)
      ? await fitTogether(read, inputs.asOf, options, context, late, onFits)
      : perTickerOutcome(await fitTickers(read, { ...options, onFits: progressOf(onFits) }), ONE_BLOCK);
    const dates = outcome.fitted.map((ticker) => ticker.dates);
    requireForecasts(dates, outcome.failures, inputs);
    const firsts = outcome.fitted.flatMap(({ folds, fit, score }) =>
      folds.length > 0 ? fit.days[folds[0]!.testStart]! : [...score.days.subarray(0, 1)],
    );
    const exposures =
      outcome.fitted.length < MIN_ORDER_TICKERS ? undefined : inputs.exposures(Math.min(...firsts));
    return { inputs, outcome, blocks, exposures };
  } finally {
    await inputs.close();
  }
}

/** Reads all tickers before the first is fitted, because fits compare them or are shared by several candidates. */
async function fitTogether(
  read: (signal: AbortSignal) => AsyncIterable<TickerPanel | Failure>,
  asOf: Day,
  options: FitOptions,
  context: JobContext,
  late: LateTickers | undefined,
  onFits: OnFits,
): Promise<MlOutcome> {
  const { settings } = options;
  const panels = { files: await readPanels(read, options), late };
  if (settings.choice !== undefined) {
    const fits = await fitCandidates(panels, settings.choice, asOf, options, context, onFits);
    return combineCandidates(fits, settings.choice);
  }
  const ready = comparePanels(panels, options);
  requireCurrentTicker(ready.prepared.panels.map(datesOf), asOf);
  return await fitCompared(ready, options, context, onFits);
}

/** The panels as they are read. If none of them can have a `mu`, the job ends here, before the fits have ended. */
async function* currentPanels(
  inputs: Inputs,
  { onTiming }: Timed,
  late: LateTickers | undefined,
): AsyncGenerator<TickerPanel | Failure> {
  const dates: PanelDates[] = [];
  const start = now();
  for await (const panel of inputs.panels((input) => late?.keep(input))) {
    if (!("code" in panel)) dates.push(datesOf(panel));
    yield panel;
  }
  onTiming?.({ name: "read features", start, end: now() });
  requireCurrentTicker(dates, inputs.asOf);
}
