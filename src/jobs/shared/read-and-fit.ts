import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Candidate, Choice } from "../../contract/config/choice/candidates.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import { workFolderError } from "../../contract/errors/system-error.ts";
import { defaultMemoryBytes } from "../../contract/machine/machine-memory.ts";
import { compareCodePoints } from "../../contract/market/ticker-series.ts";
import { MIN_ORDER_TICKERS } from "../../contract/output/order-name.ts";
import type { JudgedRows } from "../../contract/output/verdict.ts";
import type { Failure } from "../../contract/problems/problem.ts";
import { datesOf, type PanelDates } from "../../panel/as-of.ts";
import { ONE_BLOCK, type RefitBlock, refitBlocks } from "../../panel/refit-blocks.ts";
import type { TickerPanel } from "../../panel/ticker-panel.ts";
import type { CommonSettings, FitOutcome, FitPlan, FitRun, JobKind } from "../plan.ts";
import { CandidateFits, nameCandidate } from "./choice/combine-candidates.ts";
import type { Exposures } from "./evaluate-forecasts.ts";
import type { JobContext, JobEngine, JobRequest } from "./job.ts";
import type { ModelledTicker } from "./modelled-ticker.ts";
import {
  type ComparedTickers,
  compareTickers,
  type FitPanel,
  joinShortTickers,
  type PanelStore,
  type ReadTickers,
  readTickers,
} from "./panels.ts";
import { type Inputs, openInputs } from "./read-inputs.ts";
import { requireCurrentTicker, requireForecasts } from "./require-forecasts.ts";
import { runConcurrently } from "./run-concurrently.ts";
import { noRefit, zeroedWarnings } from "./ticker-warnings.ts";
import { FitTimings, now, timed } from "./timings.ts";
import { openWorkFolder } from "./work-folder.ts";

/** The settings of a job, which may have candidates. */
export type Chosen<S> = CommonSettings & { readonly choice?: Choice<S> };

/** What reading the blobs and fitting their tickers gave. */
export interface ReadAndFitted {
  readonly inputs: Inputs;
  readonly fits: FitOutcome;
  /** The rows before the score rows by which the forecasts are judged. */
  readonly rows: Exclude<JudgedRows, "score">;
  /** The blocks of score rows. */
  readonly blocks: readonly RefitBlock[];
  /** Absent for too few tickers. */
  readonly exposures: Exposures | undefined;
  /** `cpu` or `cuda:N`; `none` if no model was fitted. */
  readonly device: string;
}

/**
 * Reads both blobs and fits every model, of each candidate. Meanwhile the engine imports its libraries and runs its first task, for which
 * every fit waits.
 * @throws MucastError of that task; of reading, planning and fitting; insufficient_history, all_failed or no_forecast if no ticker has a
 *   forecast. The first error stops everything else, and is thrown once nothing is running.
 */
export async function readAndFit<S extends Chosen<S>, T extends ModelledTicker>(
  kind: JobKind<S, T>,
  request: JobRequest,
  context: JobContext,
  settings: S,
  engine: Pick<JobEngine, "pool" | "workFolder">,
): Promise<ReadAndFitted> {
  const [device, fitted] = await runConcurrently(
    context.signal,
    (signal) => kind.start(engine.pool, settings, { ...context, signal }),
    (signal, device) => fitInputs(kind, request, { ...context, signal }, settings, { ...engine, device }),
  );
  return { ...fitted, device };
}

/** Reads both blobs for a config that fits nothing: the output shows their window and digests. @throws MucastError of reading them. */
export async function readOnly<S extends Chosen<S>>(
  request: JobRequest,
  context: JobContext,
  { delay }: S,
): Promise<ReadAndFitted> {
  const work = openWorkFolder();
  try {
    const inputs = await openInputs(request, context, work.path, delay);
    try {
      for (const warning of inputs.warnings) context.report({ kind: "warning", warning });
      for await (const _ of inputs.panels()) context.signal.throwIfAborted();
      const fits = { tickers: [], failures: [], warnings: [], listed: [] };
      const nothing = { training: new Map(), blockTraining: new Map() };
      return {
        ...{ inputs, fits: { ...fits, ...nothing }, rows: "validation", blocks: ONE_BLOCK },
        ...{ exposures: undefined, device: "none" },
      };
    } finally {
      await inputs.close();
    }
  } finally {
    work.remove();
  }
}

type StartedEngine = Pick<JobEngine, "pool" | "workFolder"> & Pick<FitRun, "device">;

async function fitInputs<S extends Chosen<S>, T extends ModelledTicker>(
  kind: JobKind<S, T>,
  request: JobRequest,
  context: JobContext,
  settings: S,
  engine: StartedEngine,
): Promise<Omit<ReadAndFitted, "device">> {
  const { report, signal } = context;
  const { pool, workFolder, device } = engine;
  const engineFault = new AbortController();
  const reading = { ...context, signal: AbortSignal.any([signal, engineFault.signal]) };
  const inputs = await timed(context, "read prices", () =>
    openInputs(request, reading, workFolder, settings.delay),
  );
  for (const warning of inputs.warnings) report({ kind: "warning", warning });
  const run: FitRun = {
    ...{ pool, device, workFolder, signal, report, isLast: true },
    timings: new FitTimings(context),
    expectedTickers: inputs.priceTickers,
    memoryLimit: context.cluster === undefined ? (context.memoryBytes ?? defaultMemoryBytes()) : undefined,
  };
  try {
    const fitWhileReading = kind.fitWhileReading?.(settings);
    let done: { readonly fits: FitOutcome<T>; readonly blocks: readonly RefitBlock[] };
    if (fitWhileReading === undefined) {
      done = await fitTogether(kind, inputs, context, settings, run);
    } else {
      const read = (fault: AbortSignal) => {
        fault.addEventListener("abort", () => engineFault.abort(fault.reason));
        return currentPanels(inputs, context);
      };
      done = { fits: await fitWhileReading(read, run), blocks: ONE_BLOCK };
    }
    const { fits, blocks } = done;
    const { tickers } = fits;
    requireForecasts(
      tickers.map(({ dates }) => dates),
      fits.failures,
      inputs,
    );
    const rows = kind.judged(tickers);
    const firsts = tickers.flatMap(({ heldOut, score }) => heldOut.days[0] ?? score.days[0] ?? []);
    return {
      inputs,
      fits: { ...fits, warnings: [...fits.warnings, ...zeroedWarnings(tickers, rows, settings)] },
      ...{ rows, blocks },
      exposures: tickers.length < MIN_ORDER_TICKERS ? undefined : inputs.exposures(Math.min(...firsts)),
    };
  } finally {
    await inputs.close();
  }
}

/** The panels as they are read. If none of them can have a `mu`, the job ends here, before the fits have ended. */
async function* currentPanels(
  inputs: Inputs,
  { onTiming }: JobContext,
): AsyncGenerator<TickerPanel | Failure> {
  const dates: PanelDates[] = [];
  const start = now();
  for await (const panel of inputs.panels()) {
    if ("code" in panel) yield { ticker: panel.ticker, code: panel.code, message: panel.message };
    else {
      dates.push(datesOf(panel));
      yield panel;
    }
  }
  onTiming?.({ name: "read features", start, end: now() });
  requireCurrentTicker(dates, inputs.asOf);
}

/** The tickers of a job as its candidates need them. */
export interface ReadyTickers<S> {
  readonly blocks: readonly RefitBlock[];
  /** Those that take part from the first block on, as the first candidate compares them that has any. */
  readonly early: readonly FitPanel[];
  /** For these settings: all panels, those that join later last. */
  of(settings: S): Pick<ComparedTickers, "panels" | "failures" | "warnings">;
}

/**
 * Compares the tickers once for each way that a candidate asks for. All candidates have the same blocks of score rows, so that the members
 * of a block know the same labels.
 * @throws MucastError of `compareTickers`; invalid_request for too many blocks.
 */
export function prepareTickers<S extends CommonSettings>(
  read: ReadTickers,
  candidates: readonly S[],
  store: PanelStore,
  listedOf: (panel: TickerPanel) => FitPanel["listed"],
): ReadyTickers<S> {
  const keyOf = ({ target, crossSection }: S) => `${target}-${crossSection}`;
  const byKey = Map.groupBy(candidates, keyOf);
  const compared = new Map(
    [...byKey].map(([key, [own]]) => [key, compareTickers(read, own!, store, key, byKey.size === 1)]),
  );
  const all = candidates.map((own) => compared.get(keyOf(own))!);
  const { panels: early } = all.find(({ panels }) => panels.length > 0) ?? all[0]!;
  const blocks = refitBlocks(early, candidates[0]!.refitEvery);
  const ready = new Map(
    [...compared].map(([key, own]) => {
      const joined = joinShortTickers(read.short, blocks, own, store, key, listedOf);
      return [key, { ...own, panels: [...own.panels, ...joined] }];
    }),
  );
  return { blocks, early, of: (settings) => ready.get(keyOf(settings))! };
}

/** Reads all tickers before the first is fitted, because fits compare them or are shared by several candidates. */
async function fitTogether<S extends Chosen<S>, T extends ModelledTicker>(
  kind: JobKind<S, T>,
  inputs: Inputs,
  context: JobContext,
  settings: S,
  run: FitRun,
): Promise<{ readonly fits: FitOutcome<T>; readonly blocks: readonly RefitBlock[] }> {
  const { choice } = settings;
  const store = { workFolder: run.workFolder, isPreview: false };
  const listedOf = (panel: TickerPanel) => kind.listed(panel, settings);
  const read = await timed(context, "read features", () =>
    readTickers(inputs.panels(), store, { refitEvery: settings.refitEvery, signal: run.signal }, listedOf),
  );
  await run.device;
  const candidates = (choice?.candidates ?? [{ label: "", settings }]).map((candidate) => {
    const tested = choice && kind.tested?.(candidate.settings, choice);
    return { candidate, settings: tested ?? candidate.settings };
  });
  const all = candidates.map((one) => one.settings);
  const ready = prepareTickers(read, all, store, listedOf);
  const { blocks, early } = ready;
  requireCurrentTicker(early.map(datesOf), inputs.asOf);
  const planOf = (own: S) => planCandidate(kind, ready, own, choice !== undefined);
  const plans = all.map(planOf);
  for (const plan of plans) plan.requireRoom?.(run);
  requireForecasts(
    plans.flatMap(({ tickers }) => tickers.map(({ panel }) => datesOf(panel))),
    [...ready.of(all[0]!).failures, ...plans[0]!.failures],
    inputs,
  );
  const total = plans.reduce((sum, { steps }) => sum + steps, 0);
  const pools = kind.poolsOf?.(run.pool, all);
  const fits = new CandidateFits<S, T>((ticker) => kind.testedParts(ticker));
  let first: FitOutcome<T> | undefined;
  let finished = 0;
  for (const [i, { candidate, settings: own }] of candidates.entries()) {
    const plan = plans[i]!;
    const folder = choice === undefined ? run.workFolder : join(run.workFolder, `candidate${i}`);
    const { panels, failures, warnings } = ready.of(own);
    const ownRun = {
      ...run,
      ...{ pool: pools?.[i] ?? run.pool, workFolder: folder, isLast: i === candidates.length - 1 },
      timings: new FitTimings(context),
      report: choice === undefined ? run.report : reportOf(run.report, i, finished, total),
    };
    if (choice !== undefined) makeFolder(folder);
    const outcome = await plan.collect(ownRun).catch((error: unknown) => {
      if (choice === undefined) throw error;
      return failedOutcome(error, panels, i, candidate);
    });
    if (choice !== undefined) removeFolder(folder);
    finished += plan.steps;
    const names = new Set([...outcome.tickers, ...outcome.failures].map(({ ticker }) => ticker));
    const short = failures.filter(({ ticker }) => !names.has(ticker));
    const complete = {
      ...outcome,
      failures: [...short, ...outcome.failures].sort((a, b) => compareCodePoints(a.ticker, b.ticker)),
      warnings: [...warnings, ...noRefit(blocks, settings), ...outcome.warnings],
    };
    fits.add(candidate, complete.tickers, complete);
    first ??= complete;
  }
  return { fits: choice === undefined ? first! : kind.choose(fits, first!, choice), blocks };
}

/** Codes of errors that leave a candidate of several without any ticker. */
const CANDIDATE_CODES: ReadonlySet<string> = new Set([
  ...["insufficient_history", "constant_target", "all_failed"],
  ...["fit_failed", "diverged"],
]);

function planCandidate<S extends Chosen<S>, T extends ModelledTicker>(
  kind: JobKind<S, T>,
  ready: ReadyTickers<S>,
  settings: S,
  isOneOfSeveral: boolean,
): FitPlan<T> {
  const { panels } = ready.of(settings);
  try {
    return kind.plan(panels, settings, ready.blocks);
  } catch (error) {
    if (!isOneOfSeveral) throw error;
    const { failures } = failedOutcome(error, panels);
    const outcome = { tickers: [], failures, warnings: [], listed: [] };
    const estimate = { seconds: 0, matrix_bytes: 0 };
    return { tickers: [], failures, fits: 0, steps: 0, estimate, collect: async () => outcome };
  }
}

/** The outcome of a candidate whose fits failed as a whole. @throws any other error; that of an engine whose processes died has its name. */
function failedOutcome(
  error: unknown,
  panels: readonly FitPanel[],
  c = 0,
  { label }: Pick<Candidate<unknown>, "label"> = { label: "" },
): FitOutcome<never> {
  if (!(error instanceof MucastError)) throw error;
  const { code, message, data } = error;
  if (code === "engine_crashed") throw new MucastError(code, nameCandidate(message, c, label), data);
  if (!CANDIDATE_CODES.has(code)) throw error;
  const failures = panels.map(({ ticker }) => ({ ticker, code, message }));
  return { tickers: [], failures, warnings: [], listed: [] };
}

/** Progress over all candidates. The losses of candidates after the first are not reported: they would mix with those of the first. */
function reportOf(
  report: FitRun["report"],
  candidate: number,
  finished: number,
  total: number,
): FitRun["report"] {
  return (event) => {
    if (event.kind !== "progress" || event.stage !== "fit") report(event);
    else if (candidate === 0) report({ ...event, total });
    else report({ kind: "progress", stage: "fit", done: finished + event.done, total });
  };
}

/** @throws MucastError output_failed if the work folder's disk is full. */
function makeFolder(path: string): void {
  try {
    mkdirSync(path);
  } catch (cause) {
    throw workFolderError("written", cause);
  }
}

/** With all that fits have left in it, such as the matrix of a pooled fit that failed. */
function removeFolder(path: string): void {
  try {
    rmSync(path, { recursive: true, force: true });
  } catch {
    // A worker that is being stopped may still write a file. The work folder is removed when the job ends.
  }
}
