/** Runs run_dl_job on planted signals, as a user does, and tells what of them its forecasts found. */
import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { OutputBlob } from "../src/contract/output-blob.ts";
import { plantedMarket, type SignalName, writePlantedBlobs } from "./planted-signals.ts";

const run = promisify(execFile);
const MUCAST = fileURLToPath(new URL("../src/cli/main.ts", import.meta.url));

export interface PlantedRun {
  readonly option: string;
  /** One network learns all tickers of a job, so a joint option gets one signal at a time. */
  readonly signals: readonly SignalName[];
  /** Of the market and of the training alike. */
  readonly seed: number;
  /** The job's default where it is missing. */
  readonly loss?: string;
  readonly workers: number;
}

/**
 * For each signal the IC of the forecasts: correlation of predicted and realised over the score rows of a ticker,
 * averaged over the tickers. A constant forecast counts as 0.
 */
export async function plantedIcs(planned: PlantedRun): Promise<Map<SignalName, number>> {
  const folder = mkdtempSync(join(tmpdir(), "mucast-planted-"));
  try {
    const markets = planned.signals.map((signal) => plantedMarket(signal, planned.seed));
    const { featurePath, dataExtractorPath } = writePlantedBlobs(markets, folder);
    const { stdout } = await run(process.execPath, [
      MUCAST,
      "run_dl_job",
      "--quiet",
      ...["--feature-url", featurePath],
      ...["--data-extractor-url", dataExtractorPath],
      ...["--config", JSON.stringify(configOf(planned))],
      ...["--workers", String(planned.workers)],
    ]);
    const output: OutputBlob = JSON.parse(readFileSync(fileURLToPath(JSON.parse(stdout).output_url), "utf8"));
    return new Map(planned.signals.map((signal, i) => [signal, meanIc(output, markets[i]!.tickers)]));
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
        ...(loss === undefined ? {} : { training_params: { loss_type: loss } }),
      },
    },
  };
}

function meanIc({ metrics, failures }: OutputBlob, tickers: readonly string[]): number {
  const ics = tickers.map((ticker) => {
    const metric = metrics.score.by_ticker[ticker];
    if (metric?.n !== 300)
      throw new Error(`${ticker} has ${metric?.n} scored rows: ${JSON.stringify(failures)}`);
    return metric.correlation ?? 0;
  });
  return ics.reduce((sum, ic) => sum + ic, 0) / ics.length;
}

/** Does `work` on each item, two at a time; results in the order of the items. */
export async function twoAtATime<T, R>(
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
