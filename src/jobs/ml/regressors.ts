import { type MlSettings, parseMlSettings, seedOf } from "../../contract/config/ml-settings.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import type { Day } from "../../contract/market/dates.ts";
import { trialColumns } from "../../contract/model-params/column-demands.ts";
import { MIN_ORDER_TICKERS } from "../../contract/output/later-close.ts";
import type { Failure } from "../../contract/problems/problem.ts";
import type { Warning } from "../../contract/problems/warnings.ts";
import { regressorLibraries } from "../../engine/environment/engine-status.ts";
import { datesOf, type PanelDates } from "../../panel/as-of.ts";
import { ONE_BLOCK } from "../../panel/refit-blocks.ts";
import type { TickerPanel } from "../../panel/ticker-panel.ts";
import type { ChoiceResult } from "../shared/choice/choice-result.ts";
import type { JobContext, JobEngine, JobRequest } from "../shared/job.ts";
import type { JobKind, ReadAndFitted } from "../shared/job-kind.ts";
import { LateTickers } from "../shared/late-tickers.ts";
import { type Inputs, openInputs } from "../shared/read-inputs.ts";
import { recordedMl } from "../shared/recorded-settings.ts";
import { requireCurrentTicker, requireForecasts } from "../shared/require-forecasts.ts";
import { runConcurrently } from "../shared/run-concurrently.ts";
import { FitTimings, now, type Timed, timed } from "../shared/timings.ts";
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
import type { FittedTicker } from "./fitted-ticker.ts";
import { importanceOf } from "./importance/importance-output.ts";
import { previewMl } from "./ml-preview.ts";

/** The kind of run_ml_job: one regressor per ticker, or one for all. */
export const REGRESSORS: JobKind<MlSettings> = {
  environment: "ml",
  parse: parseMlSettings,
  libraries: (settings) => [...new Set(candidatesOf(settings).flatMap(librariesOf))],
  fit: (request, context, settings, engine) => readAndFit(request, context, settings, engine!),
  recorded: recordedMl,
  candidates: candidatesOf,
  seed: seedOf,
  model: ({ model }) => model.name,
  fitKind: (settings) => (settings.every(({ fit }) => fit === "pooled") ? "pooled" : "per_ticker"),
  preview: previewMl,
};

function candidatesOf(settings: MlSettings): readonly MlSettings[] {
  return settings.choice?.candidates.map((candidate) => candidate.settings) ?? [settings];
}

function librariesOf({ estimator, scaler }: MlSettings): readonly string[] {
  return regressorLibraries(estimator.library, scaler);
}

/** If no ticker has a fold, there is no evidence for any forecast, and the factor of `shrinkage` is 0. */
function zeroedWarnings(
  fitted: readonly Pick<FittedTicker, "folds">[],
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
    const outcome: MlOutcome = comparesTickers(settings)
      ? await fitTogether(read, inputs.asOf, options, context, late, onFits)
      : perTickerOutcome(await fitTickers(read, { ...options, onFits: progressOf(onFits) }), ONE_BLOCK);
    const dates = outcome.fitted.map((ticker) => ticker.dates);
    requireForecasts(dates, outcome.failures, inputs);
    const firsts = outcome.fitted.flatMap(({ heldOut, score }) =>
      [...heldOut.days.subarray(0, 1), ...score.days.subarray(0, 1)].slice(0, 1),
    );
    const exposures =
      outcome.fitted.length < MIN_ORDER_TICKERS ? undefined : inputs.exposures(Math.min(...firsts));
    const importance = importanceOf(outcome);
    const tickers = outcome.fitted.map(({ permuted: _, ...ticker }) => ticker);
    const { blocks, failures, pooled, blockRows, choice, listed } = outcome;
    return {
      inputs,
      fits: { tickers, failures, pooled, ...(blockRows && { blockRows }), choice, importance },
      rows: "out_of_fold",
      blocks,
      exposures,
      warnings: [...outcome.warnings, ...zeroedWarnings(tickers, settings)],
      listed,
      device: "cpu",
    };
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
  if (settings.choice !== undefined)
    return await fitCandidates(panels, settings.choice, asOf, options, context, onFits);
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
