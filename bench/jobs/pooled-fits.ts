/** Pooled fits in the pool of workers, compared with the bare library, one fit after the other on one thread, on the same arrays. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { parseMlSettings } from "../../src/contract/config/ml-settings.ts";
import { findEnvironment } from "../../src/engine/environment/environment.ts";
import { type ArrayRef, NpyWriter, writeNpy } from "../../src/engine/npy.ts";
import { EnginePool } from "../../src/engine/pool/pool.ts";
import type { FitPredictTask } from "../../src/engine/pool/protocol.ts";
import { matrixBytes } from "../../src/jobs/ml/pooled-matrix.ts";
import { seededRandom } from "../../test/twins/random.ts";
import { workerSeconds } from "../processor-ticks.ts";
import type { Table } from "../table.ts";

const SIZE = { tickers: 200, dates: 2_200, columns: 52, folds: 15, foldDates: 15 };

/** The shipped config of pooled lightgbm, with a quarter of its trees. */
const CONFIG = JSON.stringify({
  "ML params": {
    model: "lightgbm",
    model_params: {
      n_estimators: 100,
      learning_rate: 0.02,
      num_leaves: 31,
      min_child_samples: 2_000,
      subsample: 0.7,
      subsample_freq: 1,
      colsample_bytree: 0.3,
      reg_lambda: 50,
      random_state: 42,
    },
  },
});

interface Times {
  /** Wall-clock seconds, without the import of libraries. */
  readonly seconds: number;
  /** Processor seconds. */
  readonly processor: number;
}

interface Matrix {
  readonly x: ArrayRef;
  readonly y: ArrayRef;
  readonly fits: FitPredictTask["fits"];
}

/** @returns a table of one row. Takes ten minutes on two cores. */
export async function benchPooledFits(): Promise<Table> {
  const folder = mkdtempSync(join(tmpdir(), "mucast-bench-"));
  try {
    const matrix = writeMatrix(folder);
    const pooled = await inPool(matrix, folder);
    const alone = inScript(matrix);
    const cores = availableParallelism();
    const limit = (1.1 * alone.seconds) / cores + 2;
    const figures = [alone.seconds, alone.processor, pooled.seconds, pooled.processor, limit];
    const { tickers, dates, columns, folds } = SIZE;
    const rows = tickers * dates;
    const megabytes = matrixBytes({ learnRows: rows, scoreRows: tickers }, columns) / 1e6;
    return {
      title: `pooled lightgbm: ${tickers} tickers x ${dates} dates x ${columns} columns (${megabytes.toFixed(0)} MB), ${folds + 1} fits, ${cores} cores`,
      header: [
        "one thread s",
        "its processor s",
        "mucast s",
        "its processor s",
        "limit s",
        "x cores / one thread",
      ],
      rows: [
        [...figures.map((value) => value.toFixed(1)), ((pooled.seconds * cores) / alone.seconds).toFixed(2)],
      ],
    };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Noise with a weak linear signal; folds of whole dates, then one fit on all rows that predicts one more date. */
function writeMatrix(folder: string): Matrix {
  const { tickers, dates, columns, folds, foldDates } = SIZE;
  const random = seededRandom(1);
  const fitRows = tickers * dates;
  const writer = new NpyWriter(join(folder, "x.npy"), [fitRows + tickers, columns]);
  const y = new Float64Array(fitRows);
  for (let date = 0; date <= dates; date++) {
    const x = Float64Array.from({ length: tickers * columns }, () => random.normal());
    writer.append(x);
    if (date === dates) break;
    for (let t = 0; t < tickers; t++) y[date * tickers + t] = 0.02 * x[t * columns]! + random.normal();
  }
  const blocks = Array.from({ length: folds }, (_, f) => tickers * (dates - (folds - f) * foldDates));
  return {
    x: writer.close(),
    y: writeNpy(join(folder, "y.npy"), y, [fitRows]),
    fits: [
      ...blocks.map((begin) => ({
        train: [0, begin] as const,
        predict: [begin, begin + tickers * foldDates] as const,
      })),
      { train: [0, fitRows] as const, predict: [fitRows, fitRows + tickers] as const, diagnose: true },
    ],
  };
}

async function inPool({ x, y, fits }: Matrix, folder: string): Promise<Times> {
  const { estimator } = parseMlSettings(CONFIG).settings;
  const { python } = findEnvironment("ml");
  const pool = EnginePool.start({ python, libraries: ["sklearn", "lightgbm"], workFolder: folder });
  try {
    await pool.greeting;
    const started = performance.now();
    const tasks = fits.map((fit, i): FitPredictTask => {
      const predictions = { ref: join(folder, `p${i}.npy`) };
      return { task: "fit_predict", estimator, scaler: "none", x, y, fits: [fit], predictions, views: true };
    });
    // The largest first, as in a job.
    await Promise.all(tasks.reverse().map((task) => pool.run(task)));
    return { seconds: (performance.now() - started) / 1_000, processor: workerSeconds() };
  } finally {
    await pool.close();
  }
}

function inScript({ x, y, fits }: Matrix): Times {
  const { params } = parseMlSettings(CONFIG).settings.estimator;
  const given = JSON.stringify({ x: x.ref, y: y.ref, fits, params });
  const python = findEnvironment("ml").python;
  return JSON.parse(
    execFileSync(python, ["bench/peers/pooled_script.py"], { input: given, encoding: "utf8" }),
  );
}
