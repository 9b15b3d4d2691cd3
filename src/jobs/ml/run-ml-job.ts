import { type MlSettings, parseMlSettings, seedOf } from "../../contract/config/ml-settings.ts";
import { recordsRefits } from "../../contract/config/refit-settings.ts";
import { defaultMemoryBytes } from "../../contract/machine/machine-memory.ts";
import type { Day } from "../../contract/market/dates.ts";
import { compareCodePoints } from "../../contract/market/ticker-series.ts";
import { trialColumns } from "../../contract/model-params/column-demands.ts";
import type { Report } from "../../contract/output/job-events.ts";
import type { ResultRecord } from "../../contract/output/result-record.ts";
import type { Failure } from "../../contract/problems/problem.ts";
import type { Warning } from "../../contract/problems/warnings.ts";
import { regressorLibraries } from "../../engine/environment/engine-status.ts";
import { datesOf, type PanelDates } from "../../panel/as-of.ts";
import { ONE_BLOCK, type RefitBlock, refitBlocks } from "../../panel/refit-blocks.ts";
import type { TickerPanel } from "../../panel/ticker-panel.ts";
import {
  type JobContext,
  type JobEngine,
  type JobRequest,
  withEngine,
  withMemoryGuard,
} from "../shared/job.ts";
import { engineFacts, provenance } from "../shared/job-document.ts";
import { openJobOutput } from "../shared/job-output.ts";
import { failuresWithout, featuresOf, hasForecasts, LateTickers } from "../shared/late-tickers.ts";
import { type PanelFiles, panelsInMemory, writePanels } from "../shared/panel-files.ts";
import { type Prepared, preparePanels } from "../shared/prepare-panels.ts";
import { type Inputs, openInputs } from "../shared/read-inputs.ts";
import { requireCurrentTicker, requireForecasts } from "../shared/require-forecasts.ts";
import { runConcurrently } from "../shared/run-concurrently.ts";
import { runSummary } from "../shared/run-summary.ts";
import { evaluateInTurns } from "../shared/score-tables.ts";
import { noRefit, tickerWarnings, wildForecasts } from "../shared/ticker-warnings.ts";
import { FitTimings, now, type Timed, timed } from "../shared/timings.ts";
import { fitPooled, type PooledOutcome } from "./fit-pooled.ts";
import type { FitOptions } from "./fit-ticker.ts";
import { type FitOutcome, type FitProgress, fitTickers } from "./fit-tickers.ts";
import { evaluateMl, mlEvaluationUnits, mlOutput } from "./ml-output.ts";
import { listedOfFeatures } from "./plan-fits.ts";
import type { ListedPanel } from "./pooled-tickers.ts";

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
  const libraries = regressorLibraries(settings.estimator.library, settings.scaler);
  return withEngine({ environment: "ml", libraries }, context, async (engine) => {
    const { inputs, outcome, blocks } = await readAndFit(request, context, settings, engine);
    const { fitted, failures, warnings: aboutAll, pooled } = outcome;
    const evaluation = await evaluateInTurns(
      evaluateMl(fitted, settings, inputs.asOf, blocks),
      mlEvaluationUnits(fitted, settings),
      context,
    );
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
      warnings: [...warnings, ...inputs.warnings, ...aboutTickers],
      failures,
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
      fit: settings.fit,
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

/** If no ticker has a fold, there is no evidence for any forecast, and `shrinkage` multiplies all of them by 0. */
function zeroedWarnings(
  fitted: readonly { readonly folds: readonly unknown[] }[],
  { shrinkage }: Pick<MlSettings, "shrinkage">,
): Warning[] {
  // `own` warns for each ticker.
  if (shrinkage === "none" || shrinkage === "own" || fitted.some(({ folds }) => folds.length > 0)) return [];
  const message = `No ticker has a cross-validation fold, so shrinkage ${shrinkage} multiplies all forecasts by 0. Use smaller or fewer folds, more history, or shrinkage none.`;
  return [{ code: "fewer_folds", count: 0, message }];
}

interface ReadAndFitted {
  readonly inputs: Inputs;
  readonly outcome: PooledOutcome;
  /** The blocks of score rows. */
  readonly blocks: readonly RefitBlock[];
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

async function tryParameters(
  { estimator, scaler, columnDemands }: MlSettings,
  { pool }: JobEngine,
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
  { pool, workFolder }: JobEngine,
  trial: Promise<void>,
): Promise<ReadAndFitted> {
  const { report, signal } = context;
  const engineFault = new AbortController();
  const reading = { ...context, signal: AbortSignal.any([signal, engineFault.signal]) };
  const inputs = await timed(context, "read prices", () => openInputs(request, reading, workFolder));
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
    const { blocks, ...outcome } = comparesTickers(settings)
      ? await fitTogether(read, inputs.asOf, options, context, late)
      : ofEachTicker(await fitTickers(read, { ...options, onFits: fitsReport(report) }), ONE_BLOCK);
    const dates = outcome.fitted.map((ticker) => ticker.dates);
    requireForecasts(dates, outcome.failures, inputs.asOf);
    return { inputs, outcome, blocks };
  } finally {
    await inputs.close();
  }
}

/** Whether something needs the rows of all tickers before the first is fitted. */
function comparesTickers(settings: MlSettings): boolean {
  const { fit, target, crossSection } = settings;
  return fit === "pooled" || target === "relative" || crossSection || recordsRefits(settings);
}

/** The results of the fits, and the blocks of score rows that they were planned for. */
type BlockedOutcome = PooledOutcome & { readonly blocks: readonly RefitBlock[] };

function ofEachTicker(
  outcome: FitOutcome,
  blocks: readonly RefitBlock[],
  warnings: readonly Warning[] = [],
): BlockedOutcome {
  return { ...outcome, blocks, listed: [], warnings };
}

/** Reads all tickers into files, compares them as the settings require, and fits one regressor for all or one per ticker. */
async function fitTogether(
  read: (signal: AbortSignal) => AsyncIterable<TickerPanel | Failure>,
  asOf: Day,
  options: FitOptions,
  { report, memoryBytes, cluster }: JobContext,
  late: LateTickers | undefined,
): Promise<BlockedOutcome> {
  const { settings, workFolder, signal } = options;
  // A failed trial ends the reading and the comparison.
  const fault = new AbortController();
  options.trial.catch((error: unknown) => fault.abort(error));
  const keep = (panel: TickerPanel) => ({ listed: listedOfFeatures(panel, settings) });
  // Frees the panels as they were read; only the prepared ones are kept.
  const prepared = await preparePanels(
    await writePanels(read(fault.signal), workFolder, signal, keep),
    settings,
    workFolder,
    AbortSignal.any([signal, fault.signal]),
  );
  requireCurrentTicker(prepared.panels.map(datesOf), asOf);
  const blocks = refitBlocks(prepared.panels, settings.refitEvery);
  const warnings = [...prepared.warnings, ...noRefit(blocks, settings)];
  if (settings.fit === "per_ticker") {
    const readAgain = () => late?.joined(prepared, blocks, signal) ?? panelsInMemory(prepared);
    const outcome = await fitTickers(readAgain, { ...options, blocks, onFits: fitsReport(report) });
    return ofEachTicker(outcome, blocks, warnings);
  }
  const onFits = (done: number, total: number) => report({ kind: "progress", stage: "fit", done, total });
  const memoryLimit = cluster === undefined ? (memoryBytes ?? defaultMemoryBytes()) : undefined;
  const { panels, failures: short } = await withLate(late, prepared, blocks, options);
  const outcome = await fitPooled(panels, { ...options, blocks, onFits, memoryLimit });
  const failures = [...failuresWithout(outcome.failures, short), ...outcome.failures];
  return {
    ...outcome,
    blocks,
    failures: failures.sort((a, b) => compareCodePoints(a.ticker, b.ticker)),
    warnings: [...warnings, ...outcome.warnings],
  };
}

/** The panels of a pooled fit, with those of late tickers last. */
async function withLate(
  late: LateTickers | undefined,
  prepared: Prepared<ListedPanel>,
  blocks: readonly RefitBlock[],
  { workFolder, signal }: FitOptions,
): Promise<PanelFiles<ListedPanel>> {
  if (late === undefined) return prepared;
  // The features of a pooled fit are those of the other tickers, and so are their scales.
  const keep = () => ({ listed: [] });
  const joining = late.joining(prepared, blocks, signal, featuresOf(prepared.panels));
  const { panels } = await writePanels(joining, workFolder, signal, keep, "joined");
  return {
    panels: [...prepared.panels, ...panels],
    failures: failuresWithout(panels.filter(hasForecasts), prepared.failures),
  };
}

function fitsReport(report: Report) {
  return ({ done, planned, isComplete }: FitProgress) => {
    report({ kind: "progress", stage: "fit", done, ...(isComplete ? { total: planned } : {}) });
  };
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
