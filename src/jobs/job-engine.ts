import { type JobEnvironment, requireEnvironment } from "../engine/environment.ts";
import { EnginePool } from "../engine/pool.ts";
import { openWorkFolder } from "./work-folder.ts";

/** What the computing of a job asks of the machine. */
export interface EngineNeed {
  readonly environment: JobEnvironment;
  /** Modules that the job's tasks import. */
  readonly libraries: readonly string[];
  /** Tasks at a time. */
  readonly workers: number;
  /** Bytes that this process and those of the engine may hold; by default 80 % of the machine's memory. */
  readonly memoryBytes?: number | undefined;
}

/** What a job computes with: its workers, and the folder where their matrices lie. */
export interface JobEngine {
  readonly pool: EnginePool;
  readonly workFolder: string;
  /** Ends every process of it, then removes the folder. */
  close(): Promise<void>;
}

/** Opens the engine of one job. @throws MucastError engine_unavailable, output_failed. */
export type OpenEngine = (need: EngineNeed) => JobEngine;

/** A new engine in a new work folder; it imports its libraries while the job goes on. */
export const openEngine: OpenEngine = ({ environment, libraries, workers, memoryBytes }) => {
  const { python } = requireEnvironment(environment);
  const work = openWorkFolder();
  const limit = memoryBytes === undefined ? {} : { memoryLimitBytes: memoryBytes };
  const pool = EnginePool.start({ python, libraries, workers, workFolder: work.path, ...limit });
  return {
    pool,
    workFolder: work.path,
    close: async () => {
      await pool.close();
      work.remove();
    },
  };
};
