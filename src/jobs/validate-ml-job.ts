import { compareCodePoints } from "../contract/code-points.ts";
import { formatDay } from "../contract/dates.ts";
import type { MucastError } from "../contract/errors.ts";
import { type MlSettings, parseMlSettings } from "../contract/ml-settings.ts";
import type { Failure } from "../contract/output-blob.ts";
import type { Warning } from "../contract/warnings.ts";
import { intervalUnsupported } from "../evaluate/conformal.ts";
import { datesOf, muRow, noForecast, type PanelDates } from "../panel/as-of.ts";
import { noTickerLeft } from "../panel/pairing.ts";
import type { TickerPanel } from "../panel/ticker-panel.ts";
import type { JobContext, JobRequest } from "./job.ts";
import { planFits, planWarnings } from "./plan-fits.ts";
import { type Inputs, openInputs } from "./read-inputs.ts";
import { openWorkFolder } from "./work-folder.ts";

/** What was understood of a request, without training. Counts are rows; dates are `YYYY-MM-DD`. */
export interface Understanding {
  readonly model: { readonly name: string; readonly params: unknown };
  readonly window: { start: string; end: string; learning_end: string | null; as_of: string };
  /** Ascending by code point. */
  readonly tickers: readonly TickerUnderstanding[];
  readonly failures: readonly Failure[];
  /** Those of run_ml_job, in its order, but for what only fitting can tell. */
  readonly warnings: readonly Warning[];
  /** What run_ml_job would end with although both blobs can be read: insufficient_history or no_forecast. */
  readonly error?: MucastError;
}

export interface TickerUnderstanding {
  readonly ticker: string;
  readonly features: number;
  readonly fit_rows: number;
  readonly score_rows: number;
  readonly folds: number;
  readonly first_fit: string;
  readonly last_fit: string;
  /** Whether the ticker will have a `mu`. */
  readonly mu: boolean;
}

/** Reads both blobs as run_ml_job would and tells what was understood. @throws MucastError as reading does. */
export async function validateMlJob(request: JobRequest, context: JobContext): Promise<Understanding> {
  const { settings, warnings } = parseMlSettings(request.config);
  const work = openWorkFolder();
  try {
    const inputs = await openInputs(request, context, work.path);
    try {
      return await understand(inputs, settings, warnings);
    } finally {
      await inputs.close();
    }
  } finally {
    work.remove();
  }
}

async function understand(
  inputs: Inputs,
  settings: MlSettings,
  configWarnings: readonly Warning[],
): Promise<Understanding> {
  const tickers: (TickerUnderstanding & { warnings: readonly Warning[] })[] = [];
  const dates: PanelDates[] = [];
  const failures: Failure[] = [];
  for await (const panel of inputs.panels()) {
    if ("code" in panel) failures.push(panel);
    else {
      tickers.push(understandTicker(panel, inputs.asOf, settings));
      dates.push(datesOf(panel));
    }
  }
  tickers.sort((a, b) => compareCodePoints(a.ticker, b.ticker));
  const { start, end, learningEnd } = inputs.window;
  return {
    model: { name: settings.model.name, params: settings.resolvedParams },
    window: {
      start: formatDay(start),
      end: formatDay(end),
      learning_end: learningEnd === undefined ? null : formatDay(learningEnd),
      as_of: formatDay(inputs.asOf),
    },
    tickers: tickers.map(({ warnings: _, ...rest }) => rest),
    failures: failures.sort((a, b) => compareCodePoints(a.ticker, b.ticker)),
    warnings: [
      ...configWarnings,
      ...inputs.warnings,
      ...inputs.unpaired(),
      ...tickers.flatMap(({ warnings }) => warnings),
    ],
    ...(tickers.some(({ mu }) => mu) ? {} : { error: withoutMu(dates, failures, inputs.asOf) }),
  };
}

function withoutMu(dates: readonly PanelDates[], failures: readonly Failure[], asOf: number): MucastError {
  return dates.length === 0 ? noTickerLeft(failures) : noForecast(dates, asOf);
}

function understandTicker(panel: TickerPanel, asOf: number, settings: MlSettings) {
  const { ticker, fit, score, columns, days } = panel;
  const { cvTestSize, nSplits, intervals } = settings;
  const { folds } = planFits(fit.length, score.length, cvTestSize, nSplits);
  const unsupported = intervals && intervalUnsupported(ticker, folds.length * cvTestSize, intervals.alpha);
  const mu = muRow(panel, asOf);
  return {
    ticker,
    features: columns.length,
    fit_rows: fit.length,
    score_rows: score.length,
    folds: folds.length,
    first_fit: formatDay(days[fit[0]!]!),
    last_fit: formatDay(days[fit.at(-1)!]!),
    mu: mu.row !== undefined,
    warnings: [...planWarnings(panel, folds.length, settings), unsupported, mu.warning].filter(
      (warning) => warning !== undefined,
    ),
  };
}
