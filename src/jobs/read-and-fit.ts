import { MucastError } from "../contract/errors.ts";
import type { MlSettings } from "../contract/ml-settings.ts";
import type { Failure } from "../contract/output-blob.ts";
import type { EnginePool } from "../engine/pool.ts";
import { datesOf, muRow, noForecast, type PanelDates } from "../panel/as-of.ts";
import { noTickerLeft } from "../panel/pairing.ts";
import type { TickerPanel } from "../panel/ticker-panel.ts";
import { type FitOutcome, fitTickers } from "./fit-tickers.ts";
import type { JobContext, JobRequest } from "./job.ts";
import { type Inputs, openInputs } from "./read-inputs.ts";

/**
 * Reads both blobs and fits every ticker, each as soon as it is read; meanwhile the engine imports its libraries
 * and tries the parameters on synthetic rows, which every fit waits for.
 * @throws MucastError invalid_model_params of the trial fit; what reading and fitting throw; insufficient_history,
 *   all_failed or no_forecast where nothing useful is left. The first fault stops everything else, and nothing is
 *   still running when it is thrown.
 */
export async function readAndFit(
  request: JobRequest,
  context: JobContext,
  settings: MlSettings,
  pool: EnginePool,
  workFolder: string,
): Promise<{ inputs: Inputs; outcome: FitOutcome }> {
  const stop = new AbortController();
  const inner = { ...context, signal: AbortSignal.any([context.signal, stop.signal]) };
  const { estimator } = settings;
  const trial = pool.run({ task: "trial", estimator, scaler: settings.scaler }, { signal: inner.signal });
  const fitting = fitInputs(request, inner, settings, pool, workFolder, trial);
  try {
    const [, done] = await Promise.all([trial, fitting]);
    return done;
  } catch (error) {
    stop.abort(error);
    throw error;
  } finally {
    await Promise.allSettled([trial, fitting]);
  }
}

async function fitInputs(
  request: JobRequest,
  context: JobContext,
  settings: MlSettings,
  pool: EnginePool,
  workFolder: string,
  ready: Promise<unknown>,
): Promise<{ inputs: Inputs; outcome: FitOutcome }> {
  const { report, signal, workers } = context;
  const inputs = await openInputs(request, context, workFolder);
  for (const warning of inputs.warnings) report({ kind: "warning", warning });
  try {
    const outcome = await fitTickers(withForecast(inputs), {
      settings,
      pool,
      workers,
      workFolder,
      signal,
      ready,
      expectedTickers: inputs.priceTickers,
      onFits: ({ done, planned, complete }) => {
        report({ kind: "progress", stage: "fit", done, ...(complete ? { total: planned } : {}) });
      },
    });
    if (outcome.fitted.length === 0) throw noTickerLeft(outcome.failures);
    const dates = outcome.fitted.map((ticker) => ticker.dates);
    if (!dates.some((panel) => hasMu(panel, inputs.asOf)))
      throw everyCurrentTickerFailed(dates, inputs, outcome);
    return { inputs, outcome };
  } finally {
    await inputs.close();
  }
}

/** The panels; once all are read and none can have a `mu`, the job ends before the fits do. */
async function* withForecast(inputs: Inputs): AsyncGenerator<TickerPanel | Failure> {
  const dates: PanelDates[] = [];
  for await (const panel of inputs.panels()) {
    if (!("code" in panel)) dates.push(datesOf(panel));
    yield panel;
  }
  if (dates.length > 0 && !dates.some((panel) => hasMu(panel, inputs.asOf)))
    throw noForecast(dates, inputs.asOf);
}

function hasMu(panel: PanelDates, asOf: number): boolean {
  return muRow(panel, asOf).row !== undefined;
}

/** Those with a `mu` to come all failed in fitting; what is left ends early. */
function everyCurrentTickerFailed(
  dates: readonly PanelDates[],
  { asOf }: Inputs,
  { failures }: FitOutcome,
): MucastError {
  const { message, data } = noForecast(dates, asOf);
  return new MucastError("no_forecast", `${message}; the tickers that have one failed`, {
    ...data,
    failures,
  });
}
