/** A program for tests to kill: a pool during a fit that does not end. Its argument is a work folder with x.npy and y.npy. */
import { join } from "node:path";
import { findEnvironment } from "../../src/engine/environment/environment.ts";
import { EnginePool } from "../../src/engine/pool/pool.ts";
import { ENDLESS } from "./pool-fixture.ts";

const workFolder = process.argv[2]!;
const array = (name: string, shape: number[]) =>
  ({ ref: join(workFolder, name), dtype: "<f8", shape, order: "C" }) as const;

const pool = EnginePool.start({ python: findEnvironment().python, libraries: ["catboost"], workFolder });
await pool.run({
  task: "fit_predict",
  estimator: ENDLESS,
  scaler: "none",
  x: array("x.npy", [200, 4]),
  y: array("y.npy", [200]),
  fits: [{ train: [0, 150], predict: [150, 170] }],
  predictions: { ref: join(workFolder, "p.npy") },
});
