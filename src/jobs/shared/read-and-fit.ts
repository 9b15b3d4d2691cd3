import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { MucastError } from "../../contract/errors/errors.ts";
import { workFolderError } from "../../contract/errors/system-error.ts";
import { defaultMemoryBytes } from "../../contract/machine/machine-memory.ts";
import { compareCodePoints } from "../../contract/market/ticker-series.ts";
import { MIN_ORDER_TICKERS } from "../../contract/output/later-close.ts";
import { datesOf } from "../../panel/as-of.ts";
import { ONE_BLOCK, type RefitBlock, refitBlocks } from "../../panel/refit-blocks.ts";
import type { FitOutcome, FitPlan, FitRun, JobKind, JobSettings } from "../plan.ts";
import { CandidateFits, nameCandidate } from "./combine-candidates.ts";
import type { Exposures } from "./evaluate-forecasts.ts";
import { type JobContext, type JobRequest, withEngine } from "./job.ts";
import { noRefit, zeroedWarnings } from "./job-warnings.ts";
import {
  type ComparedTickers,
  compareTickers,
  type FitPanel,
  isForecast,
  joinLate,
  type PanelStore,
  type ReadTickers,
  readTickers,
} from "./panels.ts";
import { engineFacts, NO_ENGINE } from "./provenance.ts";
import { type Inputs, withInputs } from "./read-inputs.ts";
import { requireCurrentTicker, requireForecasts } from "./require-forecasts.ts";
import { runEach } from "./run-concurrently.ts";
import { requireSmoothable } from "./smooth-tickers.ts";
import { FitTimings, timed } from "./timings.ts";

export interface ReadAndFitted {
  readonly inputs: Inputs;
  readonly fits: FitOutcome;
  /** The rows before the score rows by which the forecasts are judged. */
  readonly rows: ReturnType<JobKind<never>["judged"]>;
  readonly blocks: readonly RefitBlock[];
  readonly exposures?: Exposures | undefined;
  /** `cpu` or `cuda:N`; `none` if no model was fitted. */
  readonly device: string;
  readonly engine: typeof NO_ENGINE;
}

/**
 * Reads both blobs and fits every model, of each candidate. While it reads, the engine imports its libraries and runs its first task. Without
 * libraries it fits nothing, and the output shows the window and the digests of the blobs.
 * @throws MucastError of that task; of reading, planning and fitting; insufficient_history, all_failed or no_forecast if no ticker has a
 *   forecast. The first error stops everything else, and is thrown once nothing is running.
 */
export function readAndFit<S extends JobSettings<S>>(
  kind: JobKind<S>,
  request: JobRequest,
  context: JobContext,
  settings: S,
): Promise<ReadAndFitted> {
  const { environment } = kind;
  const libraries = kind.libraries(settings);
  return withEngine({ environment, libraries }, context, async ({ pool, workFolder }) => {
    const fit = async (inputs: Inputs, signal: AbortSignal, started: Promise<string> | undefined) => {
      for (const warning of inputs.warnings) context.report({ kind: "warning", warning });
      if (pool === undefined || started === undefined) return await fitNothing(inputs, signal);
      const store = { workFolder, isPreview: false };
      const read = await timed(context, "read features", () =>
        readTickers(inputs.panels(), store, settings, signal, (panel) => kind.listed(panel, settings)),
      );
      const device = await started;
      const { report, cluster, memoryBytes = defaultMemoryBytes() } = context;
      const memoryLimit = cluster === undefined ? memoryBytes : undefined;
      const run = { pool, device, workFolder, signal, report, memoryLimit };
      const job = planJob(kind, settings, read, store);
      const fits = await fitCandidates(kind, job, inputs, settings, run, context);
      const { tickers, failures, warnings } = fits;
      requireForecasts(
        tickers.map(({ dates }) => dates),
        failures,
        inputs,
      );
      const rows = kind.judged(tickers);
      const firsts = tickers.flatMap(({ heldOut, score }) => heldOut.days[0] ?? score.days[0] ?? []);
      return {
        ...{ inputs, rows, blocks: job.blocks, device },
        fits: { ...fits, warnings: [...warnings, ...zeroedWarnings(tickers, rows, settings)] },
        exposures: tickers.length < MIN_ORDER_TICKERS ? undefined : inputs.exposures(Math.min(...firsts)),
        engine: await engineFacts(pool, environment),
      };
    };
    const [fitted] = await runEach<ReadAndFitted | string>(context.signal, async (start, signal) => {
      const inner = { ...context, signal };
      const started = pool && kind.start(pool, settings, inner);
      start(withInputs(request, inner, workFolder, settings.delay, (inputs) => fit(inputs, signal, started)));
      if (started !== undefined) start(started);
    });
    return fitted as ReadAndFitted;
  });
}

async function fitNothing(inputs: Inputs, signal: AbortSignal): Promise<ReadAndFitted> {
  for await (const _ of inputs.panels()) signal.throwIfAborted();
  const none = { tickers: [], failures: [], warnings: [], listed: [] };
  const fits = { ...none, training: new Map(), blockTraining: new Map() };
  return { inputs, fits, rows: "validation", blocks: ONE_BLOCK, device: "none", engine: NO_ENGINE };
}

interface PlannedJob<S> {
  readonly blocks: readonly RefitBlock[];
  /** The tickers that take part from the first block on, as the first candidate compares them that has any. */
  readonly early: readonly FitPanel[];
  readonly candidates: readonly {
    readonly label: string;
    readonly settings: S;
    readonly compared: ComparedTickers;
    readonly plan: FitPlan;
  }[];
}

/**
 * Plans the fits of each candidate. Tickers are compared once for each way that a candidate asks for. All candidates have the same blocks of
 * score rows, so that the members of a block know the same labels. One of several candidates that nothing can be fitted for has no fits.
 * @throws MucastError of `compareTickers` and of planning; invalid_request for too many blocks.
 */
export function planJob<S extends JobSettings<S>>(
  kind: JobKind<S>,
  settings: S,
  read: ReadTickers,
  store: PanelStore,
): PlannedJob<S> {
  const { choice, refit_every } = settings;
  const candidates =
    choice === undefined
      ? [{ label: "", settings }]
      : choice.candidates.map((own) => ({
          ...own,
          settings: kind.tested?.(own.settings, choice) ?? own.settings,
        }));
  const keyOf = ({ target, cross_section }: S) => `${target}-${cross_section}`;
  const byKey = Map.groupBy(candidates, ({ settings: own }) => keyOf(own));
  const compared = new Map(
    [...byKey].map(([key, [own]]) => [
      key,
      compareTickers(read, own!.settings, store, key, byKey.size === 1),
    ]),
  );
  const all = [...compared.values()];
  const { panels: early } = all.find(({ panels }) => panels.length > 0) ?? all[0]!;
  if (kind.libraries(settings) !== undefined) requireSmoothable(early.length, settings.smoothing?.half_life);
  const blocks = refitBlocks(early, refit_every);
  const joined = new Map([...compared].map(([key, own]) => [key, joinLate(own, read.late, blocks)]));
  return {
    ...{ blocks, early },
    candidates: candidates.map(({ label, settings: own }, c) => {
      const all = joined.get(keyOf(own))!;
      const found = kind.fit(own) === "per_ticker" ? { ...all, panels: all.panels.filter(isForecast) } : all;
      try {
        return { label, settings: own, compared: found, plan: kind.plan(found.panels, own, blocks) };
      } catch (error) {
        if (choice === undefined) throw error;
        const { failures, ...nothing } = failCandidate(error, found.panels, c, label);
        const estimate = { seconds: 0, matrix_bytes: 0 };
        const collect = async () => ({ ...nothing, failures: [] });
        const plan = { tickers: [], failures, fits: 0, steps: 0, estimate, collect };
        return { label, settings: own, compared: found, plan };
      }
    }),
  };
}

async function fitCandidates<S extends JobSettings<S>>(
  kind: JobKind<S>,
  { blocks, early, candidates }: PlannedJob<S>,
  inputs: Inputs,
  settings: S,
  run: Omit<FitRun, "timings" | "isLast">,
  context: JobContext,
): Promise<FitOutcome> {
  const { choice } = settings;
  requireCurrentTicker(early.map(datesOf), inputs.asOf);
  const timings = new FitTimings(context);
  for (const { plan } of candidates) plan.requireRoom?.({ ...run, timings, isLast: false });
  const { compared, plan: firstPlan } = candidates[0]!;
  requireForecasts(
    candidates.flatMap(({ plan }) => plan.tickers.map(({ panel }) => datesOf(panel))),
    [...compared.failures, ...firstPlan.failures],
    inputs,
  );
  const total = candidates.reduce((sum, { plan }) => sum + plan.steps, 0);
  const fits = new CandidateFits<S>();
  let first: FitOutcome | undefined;
  let finished = 0;
  for (const [c, { label, compared, plan }] of candidates.entries()) {
    const { panels, failures, warnings } = compared;
    const before = finished;
    const workFolder = join(run.workFolder, `candidate${c}`);
    try {
      mkdirSync(workFolder);
    } catch (cause) {
      throw workFolderError("written", cause);
    }
    const own: FitRun = {
      ...{ ...run, workFolder, isLast: c === candidates.length - 1 },
      timings: new FitTimings(context),
      report(event) {
        if (event.kind !== "progress" || event.stage !== "fit") run.report(event);
        else if (c === 0) run.report({ ...event, total });
        // Losses of further candidates would mix with those of the first.
        else run.report({ kind: "progress", stage: "fit", done: before + event.done, total });
      },
    };
    const outcome = await plan.collect(own).catch((error: unknown) => {
      if (choice === undefined) throw error;
      return failCandidate(error, panels, c, label);
    });
    removeFolder(workFolder);
    finished += plan.steps;
    const planned = new Set(plan.failures.map(({ ticker }) => ticker));
    const found = [...plan.failures, ...outcome.failures.filter(({ ticker }) => !planned.has(ticker))];
    const names = new Set([...outcome.tickers, ...found].map(({ ticker }) => ticker));
    const short = failures.filter(({ ticker }) => !names.has(ticker));
    const complete = {
      ...outcome,
      failures: [...short, ...found].sort((a, b) => compareCodePoints(a.ticker, b.ticker)),
      warnings: [...warnings, ...noRefit(blocks, settings), ...outcome.warnings],
    };
    if (choice !== undefined) fits.add(choice.candidates[c]!, complete.tickers, complete);
    first ??= complete;
  }
  return choice === undefined ? first! : kind.choose(fits, first!, choice);
}

/** Codes of errors that leave a candidate of several without any ticker. */
const CANDIDATE_CODES: ReadonlySet<string> = new Set([
  ...["insufficient_history", "constant_target", "all_failed"],
  ...["fit_failed", "diverged"],
]);

/** The outcome of a candidate whose fits failed as a whole. @throws any other error; that of an engine whose processes died has its name. */
function failCandidate(error: unknown, panels: readonly FitPanel[], c: number, label: string): FitOutcome {
  if (!(error instanceof MucastError)) throw error;
  const { code, message, data } = error;
  if (code === "engine_crashed") throw new MucastError(code, nameCandidate(message, c, label), data);
  if (!CANDIDATE_CODES.has(code)) throw error;
  const failures = panels.filter(isForecast).map(({ ticker }) => ({ ticker, code, message }));
  return { tickers: [], failures, warnings: [], listed: [] };
}

/** With all that fits have left in it, such as the matrix of a pooled fit that failed. */
function removeFolder(path: string): void {
  try {
    rmSync(path, { recursive: true, force: true });
  } catch {
    // A worker that is being stopped may still write a file. The work folder is removed when the job ends.
  }
}
