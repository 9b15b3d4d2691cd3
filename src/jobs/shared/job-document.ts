import { createHash } from "node:crypto";
import { withoutSignature } from "../../blob/policy.ts";
import type { Operation } from "../../contract/config/job-operations.ts";
import type { ShrinkageChoice } from "../../contract/config/panel-settings.ts";
import { ownSection } from "../../contract/config/parse-config.ts";
import { formatDay } from "../../contract/market/dates.ts";
import type { RequestedWindow } from "../../contract/market/ticker-series.ts";
import {
  type Machine,
  OUTPUT_SCHEMA_NAME,
  type OutputBlob,
  type Threads,
} from "../../contract/output/output-blob.ts";
import type { Failure } from "../../contract/problems/problem.ts";
import type { Warning } from "../../contract/problems/warnings.ts";
import { MUCAST_COMMIT, MUCAST_VERSION } from "../../contract/version.ts";
import { lockSha256 } from "../../engine/environment/environment.ts";
import type { EnginePool } from "../../engine/pool/pool.ts";
import {
  type IntervalChoice,
  type IntervalTables,
  METHOD_CONSTANTS,
} from "../../evaluate/intervals/ticker-intervals.ts";
import type { Levels } from "../../evaluate/levels.ts";
import { withWarning } from "../../evaluate/verdict/verdict.ts";
import { muRow } from "../../panel/as-of.ts";
import type { ResolvedWindow } from "../../panel/window.ts";
import type { EngineNeed, RecordedInputs } from "./job.ts";
import { recordedWindow } from "./job-window.ts";
import type { OrderedJson } from "./ordered-json.ts";
import type { Inputs } from "./read-inputs.ts";
import type { ScoredTicker, ScoreTables } from "./score-tables.ts";
import { fitOf, medianSpacing, type TickerFit } from "./ticker-fits.ts";

/** How the models were fitted, by ticker: `cross_validation` of run_ml_job, `training` of run_dl_job. */
type Fitting = Members<
  Pick<
    OutputBlob,
    "cross_validation" | "training" | "pooled" | "refits" | "choice" | "permutation_importance"
  >
>;

export interface DocumentParts {
  readonly operation: Operation;
  readonly id: string;
  readonly createdAt: Date;
  readonly window: ResolvedWindow;
  readonly asOf: number;
  readonly tickers: readonly ScoredTicker[];
  readonly fits: readonly TickerFit[];
  readonly fitting: Partial<Fitting>;
  readonly tables: ScoreTables;
  readonly intervals: IntervalChoice;
  readonly shrinkage: ShrinkageChoice;
  readonly model: OrderedJson;
  readonly warnings: readonly Warning[];
  readonly failures: readonly Failure[];
  /** Of the request. */
  readonly tags?: readonly string[] | undefined;
  readonly provenance: OrderedJson;
  /** What the libraries ran on; null if none ran. */
  readonly machine: Machine | null;
}

/** Every member of a part of the published schema: a new member does not compile until it is given here. */
type Members<Part> = Readonly<Record<keyof Part, OrderedJson>>;

/** The output blob: its origin in the first bytes, forecasts by ticker last, and tickers ascending by code point. */
export function jobDocument(parts: DocumentParts): OrderedJson {
  const { window, tickers, fits } = parts;
  const { refits, cross_validation, training, ...small } = parts.fitting;
  return {
    schema: OUTPUT_SCHEMA_NAME,
    operation: parts.operation,
    id: parts.id,
    created_at: parts.createdAt.toISOString(),
    machine: parts.machine && plain(parts.machine),
    window: {
      start: formatDay(window.start),
      end: formatDay(window.end),
      learning_end: window.learningEnd === undefined ? null : formatDay(window.learningEnd),
      as_of: formatDay(parts.asOf),
      median_spacing_days: medianSpacing(fits),
      ...recordedDelay(window),
    } satisfies Members<Omit<OutputBlob["window"], "delay">>,
    provenance: parts.provenance,
    ...muOf(tickers, parts.asOf),
    ...(parts.tables.verdict && { verdict: plain(withWarning(parts.tables.verdict, parts.warnings)) }),
    metrics: metricsOf(parts),
    model: parts.model,
    warnings: plain(parts.warnings.map(withoutSecrets)),
    failures: plain(parts.failures),
    ...(parts.tags?.length ? { tags: parts.tags } : {}),
    ...small,
    forecasts: new Map(tickers.map((ticker) => [ticker.score.ticker, () => forecastOf(ticker)])),
    fits: new Map(fits.map((fit) => [fit.ticker, () => fitOf(fit)])),
    ...{ refits, cross_validation, training },
  } satisfies Members<Omit<OutputBlob, keyof Fitting | "mu_model" | "mu_spread" | "verdict" | "tags">>;
}

export function recordedDelay({ delay = 0 }: Pick<ResolvedWindow, "delay">): { readonly delay?: number } {
  return delay === 0 ? {} : { delay };
}

/** A warning that quotes the config may quote a URL with its signature. */
function withoutSecrets(warning: Warning): Warning {
  return { ...warning, message: withoutSignature(warning.message) };
}

/**
 * The forecast return at `asOf` of each ticker that has one, the date of the row that it is forecast from, and, for an ensemble, how far
 * its members are apart.
 */
function muOf(tickers: readonly ScoredTicker[], asOf: number) {
  const mu = new Map<string, number>();
  const dated = new Map<string, string>();
  const spreads = new Map<string, number>();
  const own = new Map<string, number>();
  for (const { dates, score, spread, model } of tickers) {
    const { row } = muRow(dates, asOf);
    if (row === undefined) continue;
    mu.set(score.ticker, score.predicted.at(-1)!);
    dated.set(score.ticker, formatDay(dates.days[row]!));
    if (spread !== undefined) spreads.set(score.ticker, spread);
    if (model !== undefined) own.set(score.ticker, model.at(-1)!);
  }
  return {
    mu,
    ...(own.size === 0 ? {} : { mu_model: own }),
    mu_dates: dated,
    ...(spreads.size === 0 ? {} : { mu_spread: spreads }),
  } satisfies Members<Pick<OutputBlob, "mu" | "mu_dates">>;
}

function forecastOf({ score, bounds, model }: ScoredTicker): OrderedJson {
  return {
    dates: dateTexts(score.days),
    predicted: score.predicted,
    realised: nullable(score.realised),
    lower: nullable(bounds.lower),
    upper: nullable(bounds.upper),
    ...(model === undefined ? {} : { model }),
  } satisfies Members<Omit<OutputBlob["forecasts"][string], "model">>;
}

function metricsOf({ tables, intervals, tickers, shrinkage: choice }: DocumentParts): OrderedJson {
  const { score, outOfFold, baselines, shrinkage, levels } = tables;
  const applied = new Map(tickers.map(({ score: { ticker }, factor }) => [ticker, factor]));
  return {
    score: plain(score),
    ...(outOfFold === undefined ? {} : { out_of_fold: plain(outOfFold) }),
    baselines: plain(baselines),
    shrinkage: plain({
      ...shrinkage,
      ...(choice === "none" ? {} : { applied }),
      levels: { held_out: levelsOf(levels.heldOut), score: levelsOf(levels.score) },
    }),
    intervals: intervalsOf(tables.intervals, intervals),
  } satisfies Members<Omit<OutputBlob["metrics"], "out_of_fold">>;
}

function levelsOf(levels: Levels): OrderedJson[] {
  return levels.map(({ from, level }) => ({ start: formatDay(from), level }));
}

function intervalsOf(tables: IntervalTables | undefined, intervals: IntervalChoice): OrderedJson {
  if (tables === undefined || intervals === undefined) return null;
  const { pooled, by_volatility, joint_misses, by_ticker, others } = tables;
  return {
    ...intervals,
    constants: plain(METHOD_CONSTANTS[intervals.method]),
    pooled: plain(pooled),
    by_volatility: plain(by_volatility),
    joint_misses: plain(joint_misses),
    by_ticker: plain(by_ticker),
    other_methods: plain(others),
  } satisfies Members<NonNullable<OutputBlob["metrics"]["intervals"]>>;
}

/** Intervals as the resolved configuration records them. */
export function recordedIntervals(intervals: IntervalChoice): OrderedJson {
  return intervals === undefined ? null : { enabled: true, ...intervals };
}

/** Shape (n): each day as `YYYY-MM-DD`. */
export function dateTexts(days: Int32Array): string[] {
  return Array.from(days, formatDay);
}

function nullable(values: Float64Array): (number | null)[] {
  return Array.from(values, (value) => (Number.isNaN(value) ? null : value));
}

/** Declares plain JSON data as such: TypeScript gives an interface no index signature. */
export function plain<T extends object>(value: T): T & OrderedJson {
  return value as T & OrderedJson;
}

/**
 * The facts that a reader needs to replay a job. They contain nothing that differs between two machines that computed the same: no worker
 * count, host or path of the work folder.
 */
export function provenance(facts: {
  readonly operation: Operation;
  readonly digests: ReturnType<Inputs["digests"]>;
  readonly config: string;
  readonly window?: RequestedWindow | undefined;
  readonly engine: Omit<EngineFacts, "machine">;
  readonly seed: OrderedJson;
  /** The device that the models were fitted on: `cpu` or `cuda:N`; `none` if no model was fitted. */
  readonly device: string;
  readonly recorded?: RecordedInputs | undefined;
}): OrderedJson {
  const { feature, dataExtractor } = facts.digests;
  const { versions, threads, lockSha256, kernelLevel } = facts.engine;
  const { recorded } = facts;
  return {
    feature_url: recorded?.featureUrl ?? feature.name,
    data_extractor_url: recorded?.dataExtractorUrl ?? dataExtractor.name,
    feature_sha256: feature.sha256,
    data_extractor_sha256: dataExtractor.sha256,
    ...(facts.window === undefined ? {} : { requested_window: recordedWindow(facts.window) }),
    config: storedConfig(ownSection(facts.config, facts.operation)),
    config_sha256: recorded?.configSha256 ?? createHash("sha256").update(facts.config).digest("hex"),
    versions: { mucast: MUCAST_VERSION, node: process.versions.node, ...versions },
    ...(MUCAST_COMMIT === undefined ? {} : { commit: MUCAST_COMMIT }),
    lock_sha256: lockSha256,
    seed: facts.seed,
    threads_per_fit: 1,
    threads: threads && plain(threads),
    kernel_level: kernelLevel,
    device: facts.device,
  } satisfies Members<Omit<OutputBlob["provenance"], "requested_window" | "commit">>;
}

/** Null if the text contains the signature of a URL, however its letters are escaped: without the signature it cannot run again. */
function storedConfig(section: string): string | null {
  const decoded = JSON.stringify(JSON.parse(section));
  const isSecret = [section, decoded].some((text) => withoutSignature(text) !== text);
  return isSecret ? null : section;
}

/** What the engine of a job reports about its machine, and the lock of its environment. */
export interface EngineFacts {
  /** Versions of Python and of each library, by name. */
  readonly versions: Readonly<Record<string, string>>;
  /** Threads of one fit, by library. */
  readonly threads: Threads | null;
  /** Digest of the lock of its environment; null with an interpreter of the operator. */
  readonly lockSha256: string | null;
  /** The processor level to which the libraries' kernels are pinned. */
  readonly kernelLevel: string | null;
  readonly machine: Machine | null;
}

export const NO_ENGINE: EngineFacts = {
  versions: {},
  threads: null,
  lockSha256: null,
  kernelLevel: null,
  machine: null,
};

/** The facts of a job's engine, once its libraries are imported. @throws MucastError engine_unavailable. */
export async function engineFacts(
  pool: Pick<EnginePool, "greeting">,
  environment: EngineNeed["environment"],
): Promise<EngineFacts> {
  const { versions, threads, kernel_level: kernelLevel, machine } = await pool.greeting;
  return { versions, threads, kernelLevel, machine, lockSha256: lockSha256(environment) };
}
