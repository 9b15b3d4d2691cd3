import { compareCodePoints } from "../contract/data/code-points.ts";
import { formatDay } from "../contract/data/dates.ts";
import { MucastError } from "../contract/errors/errors.ts";
import { parseJson } from "../contract/json/json-text.ts";
import { inTurns } from "../contract/machine/pausable.ts";
import type { Failure } from "../contract/output/output-blob.ts";
import { datesOf, muRow } from "../panel/as-of.ts";
import type { PanelRows } from "../panel/ticker-panel.ts";
import { understandDl } from "./dl/dl-preview.ts";
import { understandMl } from "./ml/ml-preview.ts";
import type { JobContext, JobRequest } from "./shared/job.ts";
import type { PlannedTicker, Subject, TickerUnderstanding, Understanding } from "./shared/job-preview.ts";
import { type Inputs, openInputs } from "./shared/read-inputs.ts";
import { checkCurrent, checkLeft } from "./shared/require-forecasts.ts";
import { openWorkFolder } from "./shared/work-folder.ts";

/**
 * Reads both blobs as the job of the config would and tells what was understood: run_dl_job where the config has
 * `NN params` and no `ML params`, else run_ml_job.
 * @throws MucastError as reading does.
 */
export async function validateJob(request: JobRequest, context: JobContext): Promise<Understanding> {
  const subject = isNetworkConfig(request.config)
    ? understandDl(request.config)
    : understandMl(request.config);
  const work = openWorkFolder();
  try {
    const inputs = await openInputs(request, context, work.path);
    try {
      return await understand(inputs, subject, context.signal);
    } finally {
      await inputs.close();
    }
  } finally {
    work.remove();
  }
}

function isNetworkConfig(text: string): boolean {
  const config = parseJson(text);
  if (typeof config !== "object" || config === null) return false;
  return Object.hasOwn(config, "NN params") && !Object.hasOwn(config, "ML params");
}

async function understand(inputs: Inputs, subject: Subject, signal: AbortSignal): Promise<Understanding> {
  const panels: PanelRows[] = [];
  const early: Failure[] = [];
  for await (const panel of inputs.panels()) {
    if ("code" in panel) early.push(panel);
    else {
      const { x: _, ...rows } = panel;
      panels.push(rows);
    }
  }
  const { tickers, failures, error } = await plan(subject, panels, early, inputs.asOf, signal);
  const byTicker = (a: { ticker: string }, b: { ticker: string }) => compareCodePoints(a.ticker, b.ticker);
  const { start, end, learningEnd } = inputs.window;
  return {
    model: subject.model,
    window: {
      start: formatDay(start),
      end: formatDay(end),
      learning_end: learningEnd === undefined ? null : formatDay(learningEnd),
      as_of: formatDay(inputs.asOf),
    },
    tickers: tickers.map((ticker) => describe(ticker, subject, inputs.asOf)).sort(byTicker),
    failures: failures.toSorted(byTicker),
    warnings: [
      ...subject.warnings,
      ...inputs.warnings,
      ...inputs.unpaired(),
      ...tickers
        .toSorted((a, b) => byTicker(a.panel, b.panel))
        .flatMap(({ panel, warnings }) => [...warnings, muRow(panel, inputs.asOf).warning ?? []].flat()),
    ],
    ...(error === undefined ? {} : { error }),
  };
}

/** The plan of the job, and how it would end before it trains. */
async function plan(
  subject: Subject,
  panels: readonly PanelRows[],
  early: readonly Failure[],
  asOf: number,
  signal: AbortSignal,
) {
  const planned = await inTurns(subject.plan(panels), signal);
  const failures = [...early, ...planned.failures];
  const dates = planned.tickers.map(({ panel }) => datesOf(panel));
  const error = subject.trains ? endOf(panels, dates, failures, asOf) : undefined;
  return { tickers: planned.tickers, failures, error };
}

function endOf(
  panels: readonly PanelRows[],
  left: Parameters<typeof checkLeft>[0],
  failures: readonly Failure[],
  asOf: number,
): MucastError | undefined {
  try {
    checkCurrent(panels.map(datesOf), asOf);
    checkLeft(left, failures, asOf);
    return undefined;
  } catch (error) {
    if (error instanceof MucastError) return error;
    throw error;
  }
}

function describe({ panel, counts }: PlannedTicker, { trains }: Subject, asOf: number): TickerUnderstanding {
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
