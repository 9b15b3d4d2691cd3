/** Trains on planted signals like run_dl_job, and reports how well the forecasts find them. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { evaluateForecasts } from "../../src/jobs/shared/evaluate-forecasts.ts";
import type { ReadAndFitted } from "../../src/jobs/shared/read-and-fit.ts";
import type { Train } from "../networks/shared-engine.ts";
import {
  type MarketSize,
  type PlantedMarket,
  plantedMarket,
  type SignalName,
  writePlantedBlobs,
} from "./planted-signals.ts";

export interface PlantedRun {
  readonly option: string;
  /** One network learns all tickers of a job, so a joint option gets one signal at a time. */
  readonly signals: readonly SignalName[];
  /** Seed of both the market and the training. */
  readonly seed: number;
  /** The job's default if it is missing. */
  readonly loss?: string;
  /** All eight tickers and 1,500 days if it is missing. */
  readonly size?: MarketSize;
}

/** How well the forecasts find a signal. */
export interface Found {
  /**
   * Correlation of predicted and realised over the score rows of a ticker, averaged over the tickers. A constant forecast
   * counts as 0.
   */
  readonly ic: number;
  /** Codes of the warnings of a job with only the tickers of the signal. */
  readonly warnings: readonly string[];
}

/** How well the forecasts find them, by signal. */
export async function plantedRun(train: Train, planned: PlantedRun): Promise<Map<SignalName, Found>> {
  const folder = mkdtempSync(join(tmpdir(), "mucast-planted-"));
  try {
    const markets = planned.signals.map((signal) => plantedMarket(signal, planned.seed, planned.size));
    const blobs = writePlantedBlobs(markets, folder);
    const trained = await train({ ...blobs, config: configOf(planned), workers: 1 });
    return new Map(planned.signals.map((signal, i) => [signal, foundBy(trained, markets[i]!)]));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function configOf({ option, seed, loss }: PlantedRun): object {
  return {
    "NN params": {
      "Dot prediction": {
        "current option": option,
        global_settings: { seed },
        training_params: { ensemble: 1, ...(loss === undefined ? {} : { loss_type: loss }) },
      },
    },
  };
}

function foundBy(
  { inputs, fits, rows }: ReadAndFitted,
  { tickers, dates, learningEnd }: PlantedMarket,
): Found {
  const scored = dates.length - 1 - dates.indexOf(learningEnd);
  const trained = fits.tickers.filter(({ ticker }) => tickers.includes(ticker));
  const { tables, warnings } = evaluateForecasts(trained, rows, { shrinkage: "none" }, inputs.asOf);
  const metrics = tables.score.by_ticker;
  const ics = tickers.map((ticker) => {
    const metric = metrics.get(ticker);
    if (metric?.n !== scored)
      throw new Error(`${ticker} has ${metric?.n} scored rows: ${JSON.stringify(fits.failures)}`);
    return metric.correlation ?? 0;
  });
  const ic = ics.reduce((sum, value) => sum + value, 0) / ics.length;
  return { ic, warnings: warnings.map(({ code }) => code) };
}

/** Calls `work` on each item, two at a time; results in the order of the items. */
export async function mapInPairs<T, R>(
  items: readonly T[],
  work: (item: T, index: number) => Promise<R>,
): Promise<R[]> {
  const results: R[] = [];
  const queue = items.entries();
  const worker = async () => {
    for (const [i, item] of queue) results[i] = await work(item, i);
  };
  await Promise.all([worker(), worker()]);
  return results;
}
