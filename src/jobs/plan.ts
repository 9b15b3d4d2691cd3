/**
 * What both jobs and their four ways to fit share: one regressor per ticker, one for all (pooled), one network per ticker, one for all (joint).
 *
 * `JobKind.plan` turns the tickers' rows into a `FitPlan`, without a look at their features. A preview shows the plan; a job calls its
 * `collect`, which runs the fits and returns the forecasts by ticker.
 */
import type { CostEstimate, PooledPreview, TickerPreview } from "../contract/api/job-preview.ts";
import type { Choice } from "../contract/config/candidates.ts";
import type { SharedSettings } from "../contract/config/panel-settings.ts";
import type { Report, RunSummary } from "../contract/output/job-events.ts";
import type { JudgedRows } from "../contract/output/verdict.ts";
import type { Failure } from "../contract/problems/problem.ts";
import type { Warning } from "../contract/problems/warnings.ts";
import type { JobEnvironment } from "../engine/environment/environment.ts";
import type { EnginePool } from "../engine/pool/pool.ts";
import type { RefitBlock } from "../panel/refit-blocks.ts";
import type { PanelRows, TickerPanel } from "../panel/ticker-panel.ts";
import type { ChoiceResult } from "./shared/choice-result.ts";
import type { CandidateFits } from "./shared/combine-candidates.ts";
import type { JobContext } from "./shared/job.ts";
import type { Listed } from "./shared/job-warnings.ts";
import type { Importance, ModelledTicker } from "./shared/modelled-ticker.ts";
import type { OrderedJson } from "./shared/ordered-json.ts";
import type { FitPanel } from "./shared/panels.ts";
import type { FitTimings } from "./shared/timings.ts";

/** The settings of a job, which may have candidates. */
export type JobSettings<S> = SharedSettings & { readonly choice?: Choice<S> };

export interface JobKind<S extends JobSettings<S>> {
  readonly environment: JobEnvironment;
  /** @throws MucastError invalid_request, unknown_model, invalid_model_params, device_unavailable or too_large. */
  parse(config: string): { readonly settings: S; readonly warnings: readonly Warning[] };
  /** The modules that fits import; undefined if the job fits nothing. */
  libraries(settings: S): readonly string[] | undefined;
  /**
   * The first task of the engine, while the job reads the blobs: tries the parameters, or finds the device.
   * @returns the device: `cpu` or `cuda:N`.
   */
  start(pool: EnginePool, settings: S, context: JobContext): Promise<string>;
  /** The warnings that list a ticker for what its features show before anything is fitted. */
  listed(panel: TickerPanel, settings: S): readonly Listed[];
  /**
   * Plans the fits of all blocks. A ticker with `joins` takes part from the block of that date on.
   * @param panels in any order. @throws MucastError if nothing can be fitted.
   */
  plan(panels: readonly FitPanel[], settings: S, blocks: readonly RefitBlock[]): FitPlan;
  /** The settings that a candidate of `choice` is fitted with, if they differ from its own: with folds that only serve the choice. */
  tested?(settings: S, choice: Choice<S>): S;
  choose(fits: CandidateFits<S>, first: FirstOutcome, choice: Choice<S>): FitOutcome;
  /** The rows before the score rows by which the forecasts are judged. */
  judged(tickers: readonly ModelledTicker[]): Exclude<JudgedRows, "score">;
  recorded(settings: S): OrderedJson;
  seed(settings: S): OrderedJson;
  model(settings: S): { readonly name: string; readonly params: unknown };
  fit(settings: S): RunSummary["fit"];
}

export interface FitPlan {
  /** The tickers that take part and have something to forecast. */
  readonly tickers: readonly PlannedTicker[];
  readonly failures: readonly Failure[];
  /** The number of fits, including those of folds, or of networks, including those of ensembles. */
  readonly fits: number;
  /** Units of progress: fits, or epochs. */
  readonly steps: number;
  readonly estimate: CostEstimate;
  readonly pooled?: PooledPreview;
  /** For networks: estimated bytes of the data that the largest one reads. */
  readonly fitBytes?: number;
  /** Lists the fit of all tickers if its rows are too few. */
  readonly listed?: readonly Listed[];
  /** Called for every candidate before the first is fitted. @throws MucastError out_of_memory if a fit cannot run. */
  requireRoom?(run: FitRun): void;
  /**
   * Runs the fits. The failures that it returns are further ones.
   * @throws MucastError of a fit that all tickers depend on; errors of the engine that are not about one fit.
   */
  collect(run: FitRun): Promise<FitOutcome>;
}

export interface PlannedTicker {
  readonly panel: PanelRows;
  readonly counts: Pick<TickerPreview, "folds" | "windows">;
  readonly warnings: readonly Warning[];
  readonly listed: readonly Listed[];
}

export interface FitRun {
  readonly pool: Pick<EnginePool, "run" | "capacity" | "heldBytes">;
  readonly device: string;
  /** A folder for the files of this candidate. */
  readonly workFolder: string;
  readonly signal: AbortSignal;
  readonly report: Report;
  readonly timings: FitTimings;
  /** Memory limit of the job's processes in bytes; undefined on a cluster, whose nodes have their own. */
  readonly memoryLimit: number | undefined;
  /** Whether no later candidate reads the files of the panels, so that they can be removed once they are read. */
  readonly isLast: boolean;
}

export interface FitOutcome {
  /** Ascending by code point. */
  readonly tickers: readonly ModelledTicker[];
  readonly failures: readonly Failure[];
  /** Of the fits of all tickers. */
  readonly warnings: readonly Warning[];
  readonly listed: readonly Listed[];
  /** For a regressor or network of all tickers, by block: the number of rows that it learned from. */
  readonly blockRows?: readonly number[];
  readonly pooled?: OrderedJson;
  readonly lastImportances?: readonly Importance[];
  /** How the first network of each name was trained, and the networks of each block. */
  readonly training?: OrderedJson;
  readonly blockTraining?: OrderedJson;
  readonly importance?: OrderedJson;
  readonly choice?: ChoiceResult;
}

/** The outcome of the first candidate, whose facts are the job's, without its tickers. */
export type FirstOutcome = Omit<FitOutcome, "tickers">;
