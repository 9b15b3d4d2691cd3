import type { PanelSettings, RefitSettings } from "../../contract/config/panel-settings.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import { formatDay } from "../../contract/market/dates.ts";
import { compareCodePoints } from "../../contract/market/ticker-series.ts";
import type { OutputBlob } from "../../contract/output/output-blob.ts";
import type { Failure } from "../../contract/problems/problem.ts";
import type { Warning } from "../../contract/problems/warnings.ts";
import { datesOf, muRow } from "../../panel/as-of.ts";
import type { JoinRule } from "../../panel/late-ticker.ts";
import { type RefitBlock, refitBlocks } from "../../panel/refit-blocks.ts";
import type { PanelRows, TickerPanel } from "../../panel/ticker-panel.ts";
import type { WindowPlan } from "../../panel/window-plan.ts";
import { recordedDelay } from "./job-document.ts";
import { failuresWithout, LateTickers } from "./late-tickers.ts";
import type { Listed } from "./listed-warnings.ts";
import { medianSpacing, rowFacts } from "./modelled-ticker.ts";
import { preparedRows } from "./prepare-panels.ts";
import type { Inputs } from "./read-inputs.ts";
import { requireCurrentTicker, requireForecasts } from "./require-forecasts.ts";
import { tickerWarnings } from "./ticker-warnings.ts";

/** What a job would make of its request, without training. Counts are rows; dates are `YYYY-MM-DD`. */
export interface JobPreview {
  readonly model: { readonly name: string; readonly params: unknown };
  readonly window: OutputBlob["window"];
  readonly tickers: readonly TickerPreview[];
  readonly failures: readonly Failure[];
  readonly pooled?: PooledPreview;
  readonly refits?: RefitsPreview;
  readonly choice?: ChoicePreview;
  readonly warnings: readonly Warning[];
  /** The error with which the job would end although both blobs can be read: insufficient_history, no_forecast. */
  readonly error?: MucastError;
}

export interface PooledPreview {
  /** Rows that some fit learns from, and score rows. */
  readonly rows: number;
  readonly fit_rows: number;
  readonly columns: number;
  /** Bytes of the matrix in the work folder. */
  readonly bytes: number;
  /** Estimated bytes that the largest fit needs in addition. */
  readonly fit_bytes: number;
  readonly folds: number;
}

/** The fits of all tickers, and the blocks of score rows that they forecast. */
export interface RefitsPreview {
  /** The number of fits: for run_ml_job including those of folds; for run_dl_job networks, including those of ensembles. */
  readonly fits: number;
  readonly blocks: number;
  /** run_dl_job: estimated bytes of the data that the largest network reads. */
  readonly fit_bytes?: number;
}

export interface ChoicePreview {
  readonly candidates: number;
  /** Over all candidates and tickers, on the rows of candidate 0, without those of late tickers. */
  readonly fits: number;
}

export interface TickerPreview {
  readonly ticker: string;
  readonly features: number;
  readonly fit_rows: number;
  readonly score_rows: number;
  /** run_ml_job. */
  readonly folds?: number;
  /** run_dl_job: windows of each part. */
  readonly windows?: Readonly<Record<keyof WindowPlan, number>>;
  readonly first_fit: string;
  readonly last_fit: string;
  readonly mu: boolean;
}

export interface PreviewedConfig {
  readonly model: JobPreview["model"];
  readonly warnings: readonly Warning[];
  /** False for a config that is switched off: its job forecasts nothing, so no forecast can be missing. */
  readonly trains: boolean;
  readonly panel: PanelSettings & RefitSettings;
  /** What tickers with too few fit rows need to join later; undefined without refits. @param panels of the others. */
  readonly joinRule: ((panels: readonly PanelRows[]) => JoinRule) | undefined;
  /** The warnings of the job that list a ticker because of its features. */
  listed(panel: TickerPanel): readonly Listed[];
  /**
   * Plans the given tickers, in any order.
   * @param late those that join late.
   * @throws MucastError like the job before it trains.
   */
  plan(panels: readonly PanelRows[], late: readonly TickerPanel[], blocks: readonly RefitBlock[]): PlannedJob;
}

export interface PlannedJob {
  readonly tickers: readonly PlannedTicker[];
  readonly failures: readonly Failure[];
  /** For one fit of all tickers. */
  readonly pooled?: PooledPreview;
  readonly refits?: RefitsPreview;
  readonly choice?: ChoicePreview;
  readonly warnings?: readonly Warning[];
  /** Lists a fit of all tickers if its rows are too few. */
  readonly listed?: readonly Listed[];
}

export interface PlannedTicker {
  readonly panel: PanelRows;
  readonly counts: Pick<TickerPreview, "folds" | "windows">;
  readonly warnings: readonly Warning[];
  /** The warnings of the job that list it for these. */
  readonly listed: readonly Listed[];
}

/** Reads every panel and plans it as the job would. @throws MucastError like reading and planning. */
export async function previewJob(
  inputs: Inputs,
  config: PreviewedConfig,
  workFolder: string,
): Promise<JobPreview> {
  const { start, end, learningEnd } = inputs.window;
  const late = config.joinRule && new LateTickers(workFolder);
  const read = await readRows(inputs, config, late);
  const prepared = preparedRows(read.panels, config.panel);
  const blocks = refitBlocks(prepared.panels, config.panel.refitEvery);
  const joined = late?.join(prepared.peers, blocks, config.joinRule!(prepared.panels)) ?? [];
  const planned = config.plan(prepared.panels, [...joined], blocks);
  const tickers = planned.tickers.toSorted((a, b) => byTicker(a.panel, b.panel));
  const short = failuresWithout([...tickers.map(({ panel }) => panel), ...planned.failures], read.failures);
  const failures = [...short, ...prepared.failures, ...planned.failures];
  const error = config.trains ? errorBeforeTraining(prepared.panels, tickers, failures, inputs) : undefined;
  return {
    model: config.model,
    window: {
      start: formatDay(start),
      end: formatDay(end),
      learning_end: learningEnd === undefined ? null : formatDay(learningEnd),
      as_of: formatDay(inputs.asOf),
      median_spacing_days: medianSpacing(tickers.map(({ panel }) => ({ rows: rowFacts(panel) }))),
      ...recordedDelay(inputs.window),
    },
    tickers: tickers.map((ticker) => previewTicker(ticker, config, inputs.asOf)),
    failures: failures.toSorted(byTicker),
    ...(planned.pooled === undefined ? {} : { pooled: planned.pooled }),
    ...(planned.refits === undefined ? {} : { refits: planned.refits }),
    ...(planned.choice === undefined ? {} : { choice: planned.choice }),
    warnings: [
      ...config.warnings,
      ...inputs.warnings,
      ...prepared.warnings,
      ...(planned.warnings ?? []),
      ...tickerWarnings(inputs, tickers.map(featureWarningsOf(read.listed)), [], planned.listed ?? []).filter(
        // A config that is switched off forecasts nothing that could be too old.
        ({ code }) => config.trains || code !== "older_forecast",
      ),
    ],
    ...(error === undefined ? {} : { error }),
  };
}

/** A planned ticker as the job's warnings describe it. @param shown by ticker: the listings of its features. */
function featureWarningsOf(shown: ReadonlyMap<string, readonly Listed[]>) {
  return ({ panel, warnings, listed }: PlannedTicker) => ({
    ticker: panel.ticker,
    dates: datesOf(panel),
    rows: panel,
    warnings,
    listed: [...listed, ...(shown.get(panel.ticker) ?? [])],
  });
}

function byTicker(a: { readonly ticker: string }, b: { readonly ticker: string }): number {
  return compareCodePoints(a.ticker, b.ticker);
}

/** Drops the features of every panel, because no plan reads their values. `listed` has their listings by ticker. */
async function readRows(inputs: Inputs, config: PreviewedConfig, late: LateTickers | undefined) {
  const panels: PanelRows[] = [];
  const failures: Failure[] = [];
  const listed = new Map<string, readonly Listed[]>();
  for await (const panel of inputs.panels((input) => late?.keep(input))) {
    if ("code" in panel) failures.push(panel);
    else {
      const { x: _, ...rows } = panel;
      panels.push(rows);
      listed.set(panel.ticker, config.listed(panel));
    }
  }
  return { panels, failures, listed };
}

function errorBeforeTraining(
  panels: readonly PanelRows[],
  planned: readonly PlannedTicker[],
  failures: readonly Failure[],
  inputs: Inputs,
): MucastError | undefined {
  try {
    requireCurrentTicker(panels.map(datesOf), inputs.asOf);
    requireForecasts(
      planned.map(({ panel }) => datesOf(panel)),
      failures,
      inputs,
    );
    return undefined;
  } catch (error) {
    if (error instanceof MucastError) return error;
    throw error;
  }
}

function previewTicker(
  { panel, counts }: PlannedTicker,
  { trains }: PreviewedConfig,
  asOf: number,
): TickerPreview {
  const { ticker, fit, score, columns, days } = panel;
  return {
    ticker,
    features: columns.length,
    fit_rows: fit.length,
    score_rows: score.length,
    ...counts,
    first_fit: formatDay(days[fit[0]!]!),
    last_fit: formatDay(days[fit.at(-1)!]!),
    mu: trains && muRow(panel, asOf).row !== undefined,
  };
}
