/** Engines that stay warm from job to job: starting one and importing its libraries takes longer than most jobs of tests. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { findEnvironment } from "../../src/engine/environment/environment.ts";
import { EnginePool } from "../../src/engine/pool/pool.ts";
import type { JobEngine, OpenEngine } from "../../src/jobs/shared/job.ts";
import { openWorkFolder, type WorkFolder } from "../../src/jobs/shared/work-folder.ts";

interface SharedEngine {
  readonly pool: EnginePool;
  readonly work: WorkFolder;
  jobs: number;
}

/** By what they need: environment, workers and libraries, as the greeting of a pool lists what it imported. */
const engines = new Map<string, SharedEngine>();

/** The engine that has what a job needs, with a work folder for this job alone. The job leaves it running. */
export const openSharedEngine: OpenEngine = ({ environment, libraries, workers }): JobEngine => {
  const name = [environment, workers, ...libraries].join(" ");
  const engine = engines.get(name) ?? start();
  function start(): SharedEngine {
    const { python } = findEnvironment(environment);
    const work = openWorkFolder();
    const pool = EnginePool.start({ python, libraries, workers, workFolder: work.path });
    const started = { pool, work, jobs: 0 };
    engines.set(name, started);
    return started;
  }
  const workFolder = join(engine.work.path, `job${engine.jobs++}`);
  mkdirSync(workFolder);
  return { pool: engine.pool, workFolder, close: async () => undefined };
};

export async function closeSharedEngines(): Promise<void> {
  const open = [...engines.values()];
  engines.clear();
  await Promise.all(open.map(({ pool }) => pool.close()));
  for (const { work } of open) work.remove();
}
