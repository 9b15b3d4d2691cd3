/** Small tasks for the pool's tests, and functions that inspect the processes they start. */
import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { MucastError } from "../../src/contract/errors/errors.ts";
import { isRunning } from "../../src/contract/machine/process-stat.ts";
import type { Estimator } from "../../src/contract/model-params/resolve.ts";
import { findEnvironment } from "../../src/engine/environment/environment.ts";
import { type ArrayRef, readArray, writeNpy } from "../../src/engine/npy.ts";
import { EnginePool, type PoolOptions } from "../../src/engine/pool/pool.ts";
import type { FitPredictResult, FitPredictTask, FitRows } from "../../src/engine/pool/protocol.ts";

const ROWS = 200;
const COLUMNS = 4;
/** Pause between two listings of all processes of the system; no result depends on it. */
const PAUSE_MILLISECONDS = 20;

/** catboost, because its import is the shortest. */
export const QUICK: Estimator = catboost(5);
/** Ends only when it is killed. */
export const ENDLESS: Estimator = catboost(100_000_000);
/** Room for as many leaves as lightgbm allows: a gigabyte in half a second. */
export const HUNGRY = {
  library: "lightgbm",
  class: "LGBMRegressor",
  params: { num_leaves: 131_072, min_child_samples: 1, n_estimators: 100_000_000, verbose: -1, n_jobs: 1 },
} as unknown as Estimator;

export function catboost(iterations: number): Estimator {
  const quiet = { verbose: false, allow_writing_files: false, thread_count: 1, random_seed: 42 };
  return {
    library: "catboost",
    class: "CatBoostRegressor",
    params: { iterations, ...quiet },
  } as unknown as Estimator;
}

/** For tests that read /proc. */
export const LINUX_ONLY = { skip: process.platform !== "linux" && "looks into /proc", timeout: 600_000 };

/** The error that `promise` rejects with. */
export async function rejection(promise: Promise<unknown>): Promise<MucastError> {
  const error = await promise.then(
    () => assert.fail("it was fulfilled"),
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof MucastError, String(error));
  return error;
}

/** The predictions of a task, to the bit. */
export function bytesOf({ predictions }: FitPredictResult): string {
  return Buffer.from(readArray(predictions).buffer).toString("hex");
}

/** A work folder with one ticker's arrays, and pools that work in it; `remove` removes all of it. */
export class PoolFixture {
  readonly folder = mkdtempSync(join(tmpdir(), "mucast-pool-"));
  readonly #x: ArrayRef;
  readonly #y: ArrayRef;
  readonly #pools: EnginePool[] = [];
  #tasks = 0;

  constructor() {
    const value = (i: number) => Math.sin(i * i);
    const x = Float64Array.from({ length: ROWS * COLUMNS }, (_, i) => value(i));
    const y = Float64Array.from({ length: ROWS }, (_, i) => 0.01 * (value(i * COLUMNS) + value(7 * i + 3)));
    this.#x = writeNpy(join(this.folder, "x.npy"), x, [ROWS, COLUMNS]);
    this.#y = writeNpy(join(this.folder, "y.npy"), y, [ROWS]);
  }

  start(options: Partial<PoolOptions> = {}): EnginePool {
    const pool = EnginePool.start({
      python: findEnvironment().python,
      libraries: ["catboost"],
      workers: 2,
      workFolder: this.folder,
      ...options,
    });
    this.#pools.push(pool);
    return pool;
  }

  task(estimator: Estimator, changes: Partial<FitPredictTask> = {}): FitPredictTask {
    const fits: FitRows[] = [
      { train: [0, 150], predict: [150, 170] },
      { train: [0, 170], predict: [170, ROWS], diagnose: true },
    ];
    const predictions = { ref: join(this.folder, `p${this.#tasks++}.npy`) };
    const { x, y } = { x: this.#x, y: this.#y };
    return { task: "fit_predict", estimator, scaler: "none", x, y, fits, predictions, ...changes };
  }

  /** Waits for a worker. @returns its pid. */
  worker(): Promise<number> {
    return until(() => engineProcesses(this.folder).workers[0]);
  }

  async remove(): Promise<void> {
    await Promise.all(this.#pools.map((pool) => pool.close()));
    rmSync(this.folder, { recursive: true });
  }
}

interface Found {
  readonly pid: number;
  readonly parent: number;
}

/** Every living process that works in `folder`, hosts first. */
function processesIn(folder: string): Found[] {
  const found: Found[] = [];
  for (const name of readdirSync("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    try {
      if (readlinkSync(`/proc/${name}/cwd`) !== folder || !isRunning(Number(name))) continue;
      const stat = readFileSync(`/proc/${name}/stat`, "latin1");
      found.push({ pid: Number(name), parent: Number(stat.slice(stat.lastIndexOf(")") + 4).split(" ")[0]) });
    } catch {
      // It ended during the listing.
    }
  }
  return found;
}

/** Pids of a folder's hosts and workers. */
export function engineProcesses(folder: string): { hosts: number[]; workers: number[] } {
  const found = processesIn(folder);
  const isWorker = ({ parent }: Found) => found.some(({ pid }) => pid === parent);
  return {
    hosts: found.filter((one) => !isWorker(one)).map(({ pid }) => pid),
    workers: found.filter(isWorker).map(({ pid }) => pid),
  };
}

/** Looks until there is something; the test's own time limit ends it. */
export async function until<T>(look: () => T | undefined): Promise<T> {
  for (;;) {
    const seen = look();
    if (seen !== undefined) return seen;
    await pause(PAUSE_MILLISECONDS);
  }
}
