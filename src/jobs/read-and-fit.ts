import type { MlSettings } from "../contract/ml-settings.ts";
import { trialColumns } from "../contract/model-params/column-demands.ts";
import type { Failure } from "../contract/output-blob.ts";
import { datesOf, type PanelDates } from "../panel/as-of.ts";
import type { TickerPanel } from "../panel/ticker-panel.ts";
import { type FitOutcome, fitTickers } from "./fit-tickers.ts";
import { checkCurrent, checkLeft } from "./forecasts-left.ts";
import type { JobContext, JobRequest } from "./job.ts";
import type { JobEngine } from "./job-engine.ts";
import { type Inputs, openInputs } from "./read-inputs.ts";
import { FitTimings, now, type Timed, timed } from "./timings.ts";
import { together } from "./together.ts";

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
  engine: Pick<JobEngine, "pool" | "workFolder">,
): Promise<{ inputs: Inputs; outcome: FitOutcome }> {
  const [, done] = await together(
    context.signal,
    (signal) => tryParameters(settings, engine, { ...context, signal }),
    (signal, trial) => fitInputs(request, { ...context, signal }, settings, engine, trial),
  );
  return done;
}

async function tryParameters(
  { estimator, scaler, columnDemands }: MlSettings,
  { pool }: Pick<JobEngine, "pool">,
  { signal, onTiming }: JobContext,
): Promise<void> {
  const greeted = pool.greeting.then(now, now);
  const columns = trialColumns(columnDemands);
  await pool.run({ task: "trial", estimator, scaler, columns }, { signal });
  onTiming?.({ name: "trial fit", start: await greeted, end: now() });
}

async function fitInputs(
  request: JobRequest,
  context: JobContext,
  settings: MlSettings,
  { pool, workFolder }: Pick<JobEngine, "pool" | "workFolder">,
  ready: Promise<unknown>,
): Promise<{ inputs: Inputs; outcome: FitOutcome }> {
  const { report, signal, workers } = context;
  const inputs = await timed(context, "read prices", () => openInputs(request, context, workFolder));
  for (const warning of inputs.warnings) report({ kind: "warning", warning });
  try {
    const outcome = await fitTickers(withForecast(inputs, context), {
      settings,
      pool,
      workers,
      workFolder,
      signal,
      ready,
      expectedTickers: inputs.priceTickers,
      timings: new FitTimings(context),
      onFits: ({ done, planned, complete }) => {
        report({ kind: "progress", stage: "fit", done, ...(complete ? { total: planned } : {}) });
      },
    });
    const dates = outcome.fitted.map((ticker) => ticker.dates);
    checkLeft(dates, outcome.failures, inputs.asOf);
    return { inputs, outcome };
  } finally {
    await inputs.close();
  }
}

/** The panels; once all are read and none can have a `mu`, the job ends before the fits do. */
async function* withForecast(inputs: Inputs, { onTiming }: Timed): AsyncGenerator<TickerPanel | Failure> {
  const dates: PanelDates[] = [];
  const start = now();
  for await (const panel of inputs.panels()) {
    if (!("code" in panel)) dates.push(datesOf(panel));
    yield panel;
  }
  onTiming?.({ name: "read features", start, end: now() });
  checkCurrent(dates, inputs.asOf);
}
