import { randomUUID } from "node:crypto";
import { parseDlSettings } from "../src/contract/dl-settings.ts";
import { findEnvironment } from "../src/engine/environment.ts";
import { EnginePool } from "../src/engine/pool.ts";
import { networkLibraries } from "../src/engine/protocol.ts";
import { readAndTrain } from "../src/jobs/read-and-train.ts";
import { openWorkFolder } from "../src/jobs/work-folder.ts";

export interface TrainingPhase {
  /** From the last byte read, with the engine ready, to the last network trained and predicting. */
  readonly seconds: number;
  /** How many were run for each ticker, or for `portfolio`. */
  readonly epochs: Readonly<Record<string, number>>;
  /** What each network learned; all tickers of the bench have the same features. */
  readonly parameters: number;
}

/** The training of run_dl_job as it is in a job, without the import of torch, which other measurements leave out too. */
export async function timeTraining(
  features: string,
  prices: string,
  config: object,
  workers: number,
): Promise<TrainingPhase> {
  const text = JSON.stringify(config);
  const { settings } = parseDlSettings(text);
  const work = openWorkFolder();
  const pool = EnginePool.start({
    python: findEnvironment("dl").python,
    libraries: networkLibraries(settings),
    workers,
    workFolder: work.path,
  });
  const { signal } = new AbortController();
  try {
    await pool.run({ task: "device", device: settings.device }, { signal });
    let read = Number.NaN;
    const { outcome } = await readAndTrain(
      { featureUrl: features, dataExtractorUrl: prices, config: text, id: randomUUID() },
      {
        workers,
        policy: { allowed: [] },
        report: (event) => {
          if (event.kind === "progress" && event.stage === "read") read = performance.now();
        },
        signal,
      },
      settings,
      pool,
      work.path,
    );
    const seconds = (performance.now() - read) / 1_000;
    const records = [...outcome.training];
    return {
      seconds,
      epochs: Object.fromEntries(records.map(([name, { epochs }]) => [name, epochs.length])),
      parameters: records[0]![1].parameters,
    };
  } finally {
    await pool.close();
    work.remove();
  }
}
