import { join } from "node:path";
import type { MlSettings } from "../../contract/config/ml-settings.ts";
import { type ArrayRef, removeArray } from "../../engine/npy.ts";
import type { FitPredictResult } from "../../engine/pool/protocol.ts";
import type { FitOptions } from "./fit-ticker.ts";
import type { FitPlan, PlannedFit } from "./plan-fits.ts";

/** A ticker's rows as the engine maps them: those that some fit learns from, followed by the score rows, both in date order. */
export interface TickerMatrix {
  /** Shape (learn + score, k). */
  readonly x: ArrayRef;
  /** Shape (learn): targets. */
  readonly y: ArrayRef;
}

/** The tasks of one ticker's fits. */
export class TickerTasks {
  readonly #ticker: string;
  readonly #matrix: TickerMatrix;
  readonly #index: number;
  readonly #options: FitOptions;
  readonly #onFit: () => void;
  /** Each with the path that its predictions may use. */
  readonly #started: { readonly predictions: string; readonly result: Promise<FitPredictResult> }[] = [];
  /** The fits that were not reported yet, keyed by the rows that they predict: a retried fit is reported once. */
  readonly #untold: Set<string>;

  /** @param onFit called once after each fit of the plan, even if a worker dies and the engine tries again. */
  constructor(
    ticker: string,
    matrix: TickerMatrix,
    index: number,
    plan: FitPlan,
    options: FitOptions,
    onFit: () => void,
  ) {
    this.#ticker = ticker;
    this.#matrix = matrix;
    this.#index = index;
    this.#options = options;
    this.#onFit = onFit;
    this.#untold = new Set([...plan.fits, ...plan.refits].map(predictedRows));
  }

  run(fits: readonly PlannedFit[]): Promise<FitPredictResult> {
    const { settings, pool, workFolder, signal, timings } = this.#options;
    const predictions = join(workFolder, `p${this.#index}-${this.#started.length}.npy`);
    const result = pool.run(fitTask(this.#ticker, settings, this.#matrix, fits, predictions), {
      signal,
      onProgress: ({ fit, seconds }) => {
        // A worker that dies may have reported some; the second attempt reports them again.
        if (!this.#untold.delete(predictedRows(fits[fit]!))) return;
        timings.add(this.#ticker, seconds);
        this.#onFit();
      },
    });
    this.#started.push({ predictions, result });
    return result;
  }

  /** Waits for all of them, and removes the files that they wrote. */
  async close(): Promise<void> {
    const ended = await Promise.allSettled(this.#started.map(({ result }) => result));
    for (const [i, { predictions }] of this.#started.entries()) {
      if (!isInline(ended[i]!)) removeArray(predictions);
    }
  }
}

/** Whether a task returned its predictions in its result, without a file. */
function isInline(ended: PromiseSettledResult<FitPredictResult>): boolean {
  return ended.status === "fulfilled" && "base64" in ended.value.predictions;
}

function predictedRows({ predict }: PlannedFit): string {
  return predict.join(" ");
}

function fitTask(
  ticker: string,
  settings: MlSettings,
  { x, y }: TickerMatrix,
  fits: readonly PlannedFit[],
  predictions: string,
) {
  const { estimator, scaler } = settings;
  return {
    task: "fit_predict",
    label: ticker,
    estimator,
    scaler,
    x,
    y,
    fits,
    predictions: { ref: predictions },
  } as const;
}
