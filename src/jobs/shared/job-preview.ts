import type { MucastError } from "../../contract/errors/errors.ts";
import type { Warning } from "../../contract/errors/warnings.ts";
import type { Pausable } from "../../contract/machine/pausable.ts";
import type { Failure } from "../../contract/output/output-blob.ts";
import type { PanelRows } from "../../panel/ticker-panel.ts";

/** What was understood of a request, without training. Counts are rows; dates are `YYYY-MM-DD`. */
export interface Understanding {
  readonly model: { readonly name: string; readonly params: unknown };
  readonly window: { start: string; end: string; learning_end: string | null; as_of: string };
  /** Ascending by code point. */
  readonly tickers: readonly TickerUnderstanding[];
  readonly failures: readonly Failure[];
  /** Those of the job, in its order, but for what only fitting can tell. */
  readonly warnings: readonly Warning[];
  /** What the job would end with although both blobs can be read, such as insufficient_history or no_forecast. */
  readonly error?: MucastError;
}

export interface TickerUnderstanding {
  readonly ticker: string;
  readonly features: number;
  readonly fit_rows: number;
  readonly score_rows: number;
  /** run_ml_job. */
  readonly folds?: number;
  /** run_dl_job: windows that train, validate, calibrate and are scored. */
  readonly windows?: Readonly<Record<"train" | "validate" | "calibrate" | "score", number>>;
  readonly first_fit: string;
  readonly last_fit: string;
  /** Whether the ticker will have a `mu`. */
  readonly mu: boolean;
}

/** A job's config, understood. */
export interface Subject {
  readonly model: Understanding["model"];
  readonly warnings: readonly Warning[];
  /** False for a config that is switched off: its job forecasts nothing, and lacks nothing either. */
  readonly trains: boolean;
  /**
   * Plans the tickers that were read, in any order.
   * @throws MucastError as the job would before it trains.
   */
  plan(panels: readonly PanelRows[]): Pausable<{
    readonly tickers: readonly PlannedTicker[];
    readonly failures: readonly Failure[];
  }>;
}

export interface PlannedTicker {
  readonly panel: PanelRows;
  readonly counts: Pick<TickerUnderstanding, "folds" | "windows">;
  /** Of its rows and its plan. */
  readonly warnings: readonly Warning[];
}
