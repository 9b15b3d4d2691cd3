import type { Train } from "./shared-engine.ts";

export interface TrainingPhase {
  /** From the last byte read to the last network trained and predicting. */
  readonly seconds: number;
  /** How many were run for each ticker, or for `portfolio`. */
  readonly epochs: Readonly<Record<string, number>>;
  /** What each network learned; all tickers of the bench have the same features. */
  readonly parameters: number;
}

/** The training of run_dl_job without reading and without the import of torch, which other measurements leave out too. */
export async function timeTraining(
  train: Train,
  blobs: { readonly featurePath: string; readonly dataExtractorPath: string },
  config: object,
  workers: number,
): Promise<TrainingPhase> {
  const { featurePath, dataExtractorPath } = blobs;
  let read = Number.NaN;
  const { outcome } = await train({
    featurePath,
    dataExtractorPath,
    config,
    workers,
    report: (event) => {
      if (event.kind === "progress" && event.stage === "read") read = performance.now();
    },
  });
  const seconds = (performance.now() - read) / 1_000;
  const records = [...outcome.training];
  return {
    seconds,
    epochs: Object.fromEntries(records.map(([name, { epochs }]) => [name, epochs.length])),
    parameters: records[0]![1].parameters,
  };
}
