import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Choice } from "../../contract/config/choice/candidates.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import { workFolderError } from "../../contract/errors/system-error.ts";
import { defaultMemoryBytes } from "../../contract/machine/machine-memory.ts";
import { compareCodePoints } from "../../contract/market/ticker-series.ts";
import { MIN_ORDER_TICKERS } from "../../contract/output/later-close.ts";
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
  compareTickers,
  type FitPanel,
  joinShortTickers,
  type PanelStore,
  type ReadTickers,
  readTickers,
} from "./panels.ts";
import { type Inputs, withInputs } from "./read-inputs.ts";
import { requireCurrentTicker, requireForecasts } from "./require-forecasts.ts";
import { runConcurrently } from "./run-concurrently.ts";
import { requireSmoothable } from "./smooth-tickers.ts";
import { noRefit, zeroedWarnings } from "./ticker-warnings.ts";
import { FitTimings, now, timed } from "./timings.ts";
import { inWorkFolder } from "./work-folder.ts";

/** The settings of a job, which may have candidates. */
export type Chosen<S> = CommonSettings & { readonly choice?: Choice<S> };

/** What reading the blobs and fitting their tickers gave. */
export interface ReadAndFitted {
  readonly inputs: Inputs;
  readonly fits: FitOutcome;
  /** The rows before the score rows by which the forecasts are judged. */
  readonly rows: ReturnType<JobKind<CommonSettings, ModelledTicker>["judged"]>;
  readonly blocks: readonly RefitBlock[];
  readonly exposures?: Exposures | undefined;
  /** `cpu` or `cuda:N`; `none` if no model was fitted. */
  readonly device: string;
}

/** Reads both blobs for a config that fits nothing: the output shows their window and digests. @throws MucastError of reading them. */
export function readOnly(
  request: JobRequest,
  context: JobContext,
  { delay }: CommonSettings,
): Promise<ReadAndFitted> {
  return inWorkFolder((path) =>
    withInputs(request, context, path, delay, async (inputs): Promise<ReadAndFitted> => {
      for (const warning of inputs.warnings) context.report({ kind: "warning", warning });
      for await (const _ of inputs.panels()) context.signal.throwIfAborted();
      const none = { tickers: [], failures: [], warnings: [], listed: [] };
      const fits = { ...none, training: new Map(), blockTraining: new Map() };
      return { inputs, fits, rows: "validation", blocks: ONE_BLOCK, device: "none" };
    }),
  );
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
  { pool, workFolder }: Pick<JobEngine, "pool" | "workFolder">,
): Promise<ReadAndFitted> {
  const [device, fitted] = await runConcurrently(
    context.signal,
    (signal) => kind.start(pool, settings, { ...context, signal }),
    (signal, device) => {
      const { report, memoryBytes, cluster } = context;
      const run = {
        ...{ pool, workFolder, device, signal, report, isLast: true },
        timings: new FitTimings(context),
        memoryLimit: cluster === undefined ? (memoryBytes ?? defaultMemoryBytes()) : undefined,
      };
      return fitInputs(kind, request, context, settings, run);
    },
  );
  return { ...fitted, device };
}

async function fitInputs<S extends Chosen<S>, T extends ModelledTicker>(
  kind: JobKind<S, T>,
  request: JobRequest,
  context: JobContext,
  settings: S,
  unsized: Omit<FitRun, "expectedTickers">,
): Promise<Omit<ReadAndFitted, "device">> {
  const engineFault = new AbortController();
  const reading = { ...context, signal: AbortSignal.any([unsized.signal, engineFault.signal]) };
  return await withInputs(request, reading, unsized.workFolder, settings.delay, async (inputs) => {
    for (const warning of inputs.warnings) context.report({ kind: "warning", warning });
    const run = { ...unsized, expectedTickers: inputs.priceTickers };
    const read = (fault: AbortSignal) => {
      fault.addEventListener("abort", () => engineFault.abort(fault.reason));
      return currentPanels(inputs, context);
    };
    const streamed = await kind.fitWhileReading?.(settings)?.(read, run);
    const { fits, blocks } =
      streamed === undefined
        ? await fitTogether(kind, inputs, context, settings, run)
        : { fits: streamed, blocks: ONE_BLOCK };
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
  });
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

/**
 * Compares the tickers once for each way that a candidate asks for. All candidates have the same blocks of score rows, so that the members
 * of a block know the same labels.
 * @throws MucastError of `compareTickers`; invalid_request for too many blocks.
 */
export function prepareTickers<S extends Chosen<S>, T extends ModelledTicker>(
  kind: Pick<JobKind<S, T>, "fit">,
  read: ReadTickers,
  candidates: readonly S[],
  store: PanelStore,
  listedOf: (panel: TickerPanel) => FitPanel["listed"],
) {
  const keyOf = ({ target, crossSection }: S) => `${target}-${crossSection}`;
  const isPooled = (own: S) => kind.fit(own) === "pooled";
  const nameOf = (own: S) => `${keyOf(own)}${isPooled(own) ? "-pooled" : ""}`;
  const byKey = Map.groupBy(candidates, keyOf);
  const compared = new Map(
    [...byKey].map(([key, [own]]) => [key, compareTickers(read, own!, store, key, byKey.size === 1)]),
  );
  const all = candidates.map((own) => compared.get(keyOf(own))!);
  const { panels: early } = all.find(({ panels }) => panels.length > 0) ?? all[0]!;
  requireSmoothable(early.length, candidates[0]!.halfLife);
  const blocks = refitBlocks(early, candidates[0]!.refitEvery);
  const ready = new Map(
    [...Map.groupBy(candidates, nameOf)].map(([name, [own]]) => {
      const found = compared.get(keyOf(own!))!;
      const options = { isPooled: isPooled(own!), listedOf };
      const joined = joinShortTickers(read.short, blocks, found, store, name, options);
      return [name, { ...found, panels: [...found.panels, ...joined] }];
    }),
  );
  return {
    blocks,
    /** Those that take part from the first block on, as the first candidate compares them that has any. */
    early,
    /** For these settings: all panels, those that join later last. */
    of: (settings: S) => ready.get(nameOf(settings))!,
  };
}

/** The settings that the fits of each candidate have. */
export function testedSettings<S extends Chosen<S>, T extends ModelledTicker>(
  kind: JobKind<S, T>,
  settings: S,
): readonly S[] {
  const { choice } = settings;
  if (choice === undefined) return [settings];
  return choice.candidates.map((own) => kind.tested?.(own.settings, choice) ?? own.settings);
}

/** Plans the fits of each candidate. One of several that nothing can be fitted for has no fits. @throws MucastError of planning. */
export function planCandidates<S extends Chosen<S>, T extends ModelledTicker>(
  kind: JobKind<S, T>,
  settings: S,
  ready: ReturnType<typeof prepareTickers<S, T>>,
): FitPlan<T>[] {
  const { choice } = settings;
  return testedSettings(kind, settings).map((own, c) => {
    const { panels } = ready.of(own);
    try {
      return kind.plan(panels, own, ready.blocks);
    } catch (error) {
      if (choice === undefined) throw error;
      const outcome = failCandidate(error, panels, c, choice.candidates[c]!.label);
      const estimate = { seconds: 0, matrix_bytes: 0 };
      const { failures } = outcome;
      return { tickers: [], failures, fits: 0, steps: 0, estimate, collect: async () => outcome };
    }
  });
}

/** Reads all tickers before the first is fitted, because fits compare them or are shared by several candidates. */
async function fitTogether<S extends Chosen<S>, T extends ModelledTicker>(
  kind: JobKind<S, T>,
  inputs: Inputs,
  context: JobContext,
  settings: S,
  run: FitRun,
): Promise<{ readonly fits: FitOutcome<T>; readonly blocks: readonly RefitBlock[] }> {
  const { choice, refitEvery } = settings;
  const store = { workFolder: run.workFolder, isPreview: false };
  const listedOf = (panel: TickerPanel) => kind.listed(panel, settings);
  const read = await timed(context, "read features", () =>
    readTickers(inputs.panels(), store, { refitEvery, signal: run.signal }, listedOf),
  );
  await run.device;
  const candidates = choice?.candidates ?? [{ label: "", settings }];
  const tested = testedSettings(kind, settings);
  const ready = prepareTickers(kind, read, tested, store, listedOf);
  const { blocks, early } = ready;
  requireCurrentTicker(early.map(datesOf), inputs.asOf);
  const plans = planCandidates(kind, settings, ready);
  for (const plan of plans) plan.requireRoom?.(run);
  requireForecasts(
    plans.flatMap(({ tickers }) => tickers.map(({ panel }) => datesOf(panel))),
    [...ready.of(tested[0]!).failures, ...plans[0]!.failures],
    inputs,
  );
  const total = plans.reduce((sum, { steps }) => sum + steps, 0);
  const pools = kind.poolsOf?.(run.pool, tested);
  const fits = new CandidateFits<S, T>((ticker) => kind.testedParts(ticker));
  let first: FitOutcome<T> | undefined;
  let finished = 0;
  for (const [c, plan] of plans.entries()) {
    const { panels, failures, warnings } = ready.of(tested[c]!);
    const before = finished;
    const own: FitRun = {
      ...run,
      ...{ pool: pools?.[c] ?? run.pool, isLast: c === plans.length - 1 },
      workFolder: makeFolder(join(run.workFolder, `candidate${c}`)),
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
      return failCandidate(error, panels, c, candidates[c]!.label);
    });
    removeFolder(own.workFolder);
    finished += plan.steps;
    const names = new Set([...outcome.tickers, ...outcome.failures].map(({ ticker }) => ticker));
    const short = failures.filter(({ ticker }) => !names.has(ticker));
    const complete = {
      ...outcome,
      failures: [...short, ...outcome.failures].sort((a, b) => compareCodePoints(a.ticker, b.ticker)),
      warnings: [...warnings, ...noRefit(blocks, settings), ...outcome.warnings],
    };
    fits.add(candidates[c]!, complete.tickers, complete);
    first ??= complete;
  }
  return { fits: choice === undefined ? first! : kind.choose(fits, first!, choice), blocks };
}

/** Codes of errors that leave a candidate of several without any ticker. */
const CANDIDATE_CODES: ReadonlySet<string> = new Set([
  ...["insufficient_history", "constant_target", "all_failed"],
  ...["fit_failed", "diverged"],
]);

/** The outcome of a candidate whose fits failed as a whole. @throws any other error; that of an engine whose processes died has its name. */
function failCandidate(
  error: unknown,
  panels: readonly FitPanel[],
  c: number,
  label: string,
): FitOutcome<never> {
  if (!(error instanceof MucastError)) throw error;
  const { code, message, data } = error;
  if (code === "engine_crashed") throw new MucastError(code, nameCandidate(message, c, label), data);
  if (!CANDIDATE_CODES.has(code)) throw error;
  const failures = panels.map(({ ticker }) => ({ ticker, code, message }));
  return { tickers: [], failures, warnings: [], listed: [] };
}

/** @throws MucastError output_failed if the work folder's disk is full. */
function makeFolder(path: string): string {
  try {
    mkdirSync(path);
    return path;
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
