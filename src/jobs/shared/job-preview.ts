import type { JobPreview, TickerPreview } from "../../contract/api/job-preview.ts";
import { recordsRefits } from "../../contract/config/panel-settings.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import { formatDay } from "../../contract/market/dates.ts";
import { compareCodePoints } from "../../contract/market/ticker-series.ts";
import type { Failure } from "../../contract/problems/problem.ts";
import { datesOf, muRow } from "../../panel/as-of.ts";
import type { JobKind, JobSettings, PlannedTicker } from "../plan.ts";
import { recordedWindow } from "./job-document.ts";
import { noRefit, tickerWarnings } from "./job-warnings.ts";
import { medianSpacing, rowFacts } from "./modelled-ticker.ts";
import { readTickers } from "./panels.ts";
import { planJob } from "./read-and-fit.ts";
import type { Inputs } from "./read-inputs.ts";
import { requireCurrentTicker, requireForecasts } from "./require-forecasts.ts";

export interface ValidatedJob extends JobPreview {
  /** The error with which the job would end although both blobs can be read: insufficient_history, no_forecast. */
  readonly error?: MucastError;
}

/** Reads every panel and plans it as the job would. @throws MucastError of reading and of planning. */
export async function previewJob<S extends JobSettings<S>>(
  kind: JobKind<S>,
  { settings, warnings }: ReturnType<JobKind<S>["parse"]>,
  inputs: Inputs,
  { workFolder, signal }: { readonly workFolder: string; readonly signal: AbortSignal },
): Promise<ValidatedJob> {
  const { choice } = settings;
  const trains = kind.libraries(settings) !== undefined;
  const store = { workFolder, isPreview: true };
  const read = await readTickers(inputs.panels(), store, settings, signal, (panel) =>
    kind.listed(panel, settings),
  );
  const { blocks, early, candidates: planned } = planJob(kind, settings, read, store);
  const { compared } = planned[0]!;
  const plan = choice === undefined ? planned[0]!.plan : kind.plan(compared.panels, settings, blocks);
  const byTicker = (a: { ticker: string }, b: { ticker: string }) => compareCodePoints(a.ticker, b.ticker);
  const tickers = plan.tickers.toSorted((a, b) => byTicker(a.panel, b.panel));
  const known = new Set([...tickers.map(({ panel }) => panel), ...plan.failures].map(({ ticker }) => ticker));
  const short = compared.failures.filter(({ ticker }) => !known.has(ticker));
  const failures = [...short, ...plan.failures].sort(byTicker);
  const error = trains ? errorBeforeTraining(early, tickers, failures, inputs) : undefined;
  const candidates = choice === undefined || !trains ? [] : planned.map((own) => own.plan);
  const estimates = (candidates.length === 0 ? [plan] : candidates).map(({ estimate }) => estimate);
  const facts = tickers.map(({ panel, warnings, listed }) => {
    const { ticker } = panel;
    return { ticker, dates: datesOf(panel), rows: rowFacts(panel), warnings, listed };
  });
  const found = tickerWarnings(inputs, facts, [], plan.listed);
  const { fits, fitBytes } = plan;
  return {
    model: kind.model(settings),
    window: recordedWindow(inputs.window, inputs.asOf, medianSpacing(facts)),
    tickers: tickers.map((ticker) => previewTicker(ticker, trains, inputs.asOf)),
    failures,
    ...(plan.pooled && { pooled: plan.pooled }),
    ...(trains &&
      recordsRefits(settings) && {
        refits: { fits, blocks: blocks.length, ...(fitBytes === undefined ? {} : { fit_bytes: fitBytes }) },
      }),
    ...(candidates.length > 0 && {
      choice: { candidates: candidates.length, fits: candidates.reduce((sum, own) => sum + own.fits, 0) },
    }),
    ...(trains && {
      estimate: {
        seconds: Number(estimates.reduce((sum, { seconds }) => sum + seconds, 0).toPrecision(2)),
        matrix_bytes: Math.max(...estimates.map(({ matrix_bytes }) => matrix_bytes)),
      },
    }),
    warnings: [
      ...warnings,
      ...inputs.warnings,
      ...compared.warnings,
      ...(trains ? noRefit(blocks, settings) : []),
      // A config that is switched off forecasts nothing that could be too old.
      ...found.filter(({ code }) => trains || code !== "older_forecast"),
    ],
    ...(error && { error }),
  };
}

function errorBeforeTraining(
  early: Parameters<typeof requireCurrentTicker>[0],
  planned: readonly PlannedTicker[],
  failures: readonly Failure[],
  inputs: Inputs,
): MucastError | undefined {
  try {
    requireCurrentTicker(early, inputs.asOf);
    requireForecasts(
      planned.map(({ panel }) => panel),
      failures,
      inputs,
    );
    return undefined;
  } catch (error) {
    if (error instanceof MucastError) return error;
    throw error;
  }
}

function previewTicker({ panel, counts }: PlannedTicker, trains: boolean, asOf: number): TickerPreview {
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
