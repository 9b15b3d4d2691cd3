/**
 * Engines that stay warm from job to job, because starting one and importing its libraries takes longer than most test jobs. Each imports
 * every library of its environment unless a file asks for less, so that jobs of several models share it; its greeting, and so the
 * provenance of an output, names them all.
 */
import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { LIBRARIES } from "../../../src/engine/environment/engine-status.ts";
import { findEnvironment } from "../../../src/engine/environment/environment.ts";
import { EnginePool } from "../../../src/engine/pool/pool.ts";
import type { EngineNeed, JobEngine, OpenEngine } from "../../../src/jobs/shared/job.ts";
import { openWorkFolder, type WorkFolder } from "../../../src/jobs/shared/work-folder.ts";

interface SharedEngine {
  readonly pool: EnginePool;
  readonly work: WorkFolder;
  jobs: number;
}

/** By environment, number of workers and libraries. */
const engines = new Map<string, SharedEngine>();

/** The engine that has what a job needs, with a work folder for this job alone. The job leaves it running. */
export const openSharedEngine: OpenEngine = (need) => shared(need, LIBRARIES[need.environment]);

/** The same with only catboost, which is imported fastest, for files whose jobs need no other library. */
export const openQuickEngine: OpenEngine = (need) => shared(need, ["catboost"]);

function shared(
  { environment, libraries: needed, workers }: EngineNeed,
  libraries: readonly string[],
): JobEngine {
  for (const library of needed) assert.ok(libraries.includes(library), `${environment} has ${library}`);
  const name = `${environment} ${workers} ${libraries}`;
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
}

export async function closeSharedEngines(): Promise<void> {
  const open = [...engines.values()];
  engines.clear();
  await Promise.all(open.map(({ pool }) => pool.close()));
  for (const { work } of open) work.remove();
}
