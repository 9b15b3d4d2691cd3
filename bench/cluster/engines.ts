/** Engines to compare: the pool of this machine, and one on a test cluster; and tasks for them. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Estimator } from "../../src/contract/model-params/resolve.ts";
import { findEnvironment } from "../../src/engine/environment/environment.ts";
import { type ArrayRef, writeNpy } from "../../src/engine/npy.ts";
import { EnginePool, type PoolOptions } from "../../src/engine/pool/pool.ts";
import type { FitPredictTask } from "../../src/engine/pool/protocol.ts";
import type { RayCluster } from "../../test/servers/ray-cluster.testing.ts";

export interface Engine {
  readonly pool: EnginePool;
  /** From the start of its first process until it accepts tasks. */
  readonly readySeconds: number;
  /** A task of one fit on its own arrays. */
  task(estimator: Estimator, rows?: number, columns?: number): FitPredictTask;
}

/** `body` gets an engine with workers on this machine, or on all slots of a cluster. */
export async function withEngine<T>(
  where: RayCluster | number,
  body: (engine: Engine) => Promise<T>,
  log?: (line: string) => void,
): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), "mucast-bench-"));
  const started = performance.now();
  const pool = EnginePool.start({
    libraries: ["sklearn"],
    workFolder: folder,
    ...(typeof where === "number" ? onThisMachine(where) : onCluster(where)),
    ...(log ? { notice: log } : {}),
  });
  let tasks = 0;
  const task = (estimator: Estimator, rows = 1_000, columns = 20): FitPredictTask => {
    const at = (name: string) => join(folder, `${tasks}-${name}.npy`);
    const x = writeNpy(at("x"), numbers(rows * columns, tasks), [rows, columns]);
    const y: ArrayRef = writeNpy(at("y"), numbers(rows, tasks + 0.5), [rows]);
    const predictions = { ref: at("predictions") };
    tasks++;
    const fits = [{ train: [0, rows - 1], predict: [rows - 1, rows] }] as const;
    return { task: "fit_predict", estimator, scaler: "none", x, y, fits, predictions };
  };
  try {
    await pool.greeting;
    return await body({ pool, readySeconds: (performance.now() - started) / 1_000, task });
  } finally {
    await pool.close();
    rmSync(folder, { recursive: true });
  }
}

type Where = Pick<PoolOptions, "python" | "workers" | "cluster">;

function onThisMachine(workers: number): Where {
  return { python: findEnvironment("ml").python, workers };
}

/** Ray takes the token from the environment. */
function onCluster({ address, tokenFile }: RayCluster): Where {
  process.env.RAY_AUTH_TOKEN_PATH = tokenFile;
  return { python: findEnvironment("ray").python, cluster: { url: address, insecure: false } };
}

function numbers(count: number, seed: number): Float64Array {
  return Float64Array.from({ length: count }, (_, i) => Math.sin((i + 1) * (i + seed)));
}

/** A forest on one thread, whose fit time grows with its number of trees. */
export function forest(trees: number): Estimator {
  const params = { n_estimators: trees, n_jobs: 1, random_state: 42 };
  return {
    library: "sklearn",
    class: "RandomForestRegressor",
    params,
  } as unknown as Estimator;
}

/** A fit that takes no processor, if bench/cluster/sleeping is on the path of the nodes. */
export function sleep(seconds: number): Estimator {
  return { library: "sklearn", class: "Ridge", params: { alpha: seconds } } as unknown as Estimator;
}

export interface Measured {
  readonly wallSeconds: number;
  /** Time of all fits, by the engine's own clock. */
  readonly fitSeconds: number;
}

/** Submits all tasks at once and waits for the last. */
export async function measure(pool: EnginePool, tasks: readonly FitPredictTask[]): Promise<Measured> {
  const started = performance.now();
  const results = await Promise.all(tasks.map((task) => pool.run(task)));
  const wallSeconds = (performance.now() - started) / 1_000;
  const fitSeconds = results.flatMap(({ seconds }) => seconds).reduce((sum, one) => sum + one, 0);
  return { wallSeconds, fitSeconds };
}
