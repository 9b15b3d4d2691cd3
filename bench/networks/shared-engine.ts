import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { JobEvent } from "../../src/contract/output/job-events.ts";
import { findEnvironment } from "../../src/engine/environment/environment.ts";
import { EnginePool } from "../../src/engine/pool/pool.ts";
import { NETWORKS } from "../../src/jobs/dl/networks.ts";
import { type ReadAndFitted, readAndFit } from "../../src/jobs/shared/read-and-fit.ts";
import { openWorkFolder } from "../../src/jobs/shared/work-folder.ts";

interface TrainRequest {
  readonly featurePath: string;
  readonly dataExtractorPath: string;
  readonly config: object;
  /** Threads of a joint network. */
  readonly workers: number;
  readonly report?: (event: JobEvent) => void;
}

/** Reads and trains like run_dl_job, in the engine of a whole run of measurements. */
export type Train = (request: TrainRequest) => Promise<ReadAndFitted>;

/** Starts an engine, waits until it has imported its libraries, and calls `body` with a function that trains in it. */
export async function withEngine<T>(
  workers: number,
  libraries: readonly string[],
  body: (train: Train) => Promise<T>,
): Promise<T> {
  const work = openWorkFolder();
  const { python } = findEnvironment("dl");
  const pool = EnginePool.start({ python, libraries: [...libraries], workers, workFolder: work.path });
  const { signal } = new AbortController();
  let jobs = 0;
  const train: Train = async ({ featurePath, dataExtractorPath, config, workers, report }) => {
    const folder = join(work.path, `job${jobs++}`);
    mkdirSync(folder);
    const text = JSON.stringify(config);
    const request = { featureUrl: featurePath, dataExtractorUrl: dataExtractorPath, config: text, id: "1" };
    const openEngine = () => ({ pool, workFolder: folder, close: async () => undefined });
    const policy = { allowed: [] };
    const context = { workers, policy, report: report ?? (() => undefined), signal, openEngine };
    const trained = await readAndFit(NETWORKS, request, context, NETWORKS.parse(text).settings);
    rmSync(folder, { recursive: true });
    return trained;
  };
  try {
    await pool.run({ task: "device", device: "cpu" }, { signal });
    return await body(train);
  } finally {
    await pool.close();
    work.remove();
  }
}
