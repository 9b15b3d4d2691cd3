/** Pooled refits in the pool of workers, compared with the bare library, one fit after the other on one thread, on the same arrays. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type MlSettings, parseMlSettings } from "../../src/contract/config/ml-settings.ts";
import { findEnvironment } from "../../src/engine/environment/environment.ts";
import { type ArrayRef, NpyWriter, removeArray, writeNpy } from "../../src/engine/npy.ts";
import { EnginePool } from "../../src/engine/pool/pool.ts";
import type { FitPredictTask } from "../../src/engine/pool/protocol.ts";
import { seededRandom } from "../../test/twins/random.ts";
import type { Table } from "../bench.ts";
import { workerSeconds } from "../processor-ticks.ts";

/** Dates of a block, and the date of the first refit. */
const [EVERY, FIRST] = [21, 1_000];
const RUNS = 3;

const SIZES = [
  { tickers: 20, dates: 1_420, columns: 26 },
  { tickers: 200, dates: 1_420, columns: 26 },
];

const MODELS = {
  ridge: { model: "ridge", scaler: "standard" },
  lightgbm: {
    model: "lightgbm",
    model_params: { n_estimators: 50, num_leaves: 31, min_child_samples: 200, random_state: 42 },
  },
} as const;

interface Seconds {
  readonly processor: number;
  /** Seconds that the script takes to load both arrays. */
  readonly read: number;
}

interface Matrix {
  readonly x: ArrayRef;
  readonly y: ArrayRef;
  readonly fits: FitPredictTask["fits"];
}

/** @returns a table with a row for each model and size. Takes three minutes on two cores. */
export async function benchRefits(): Promise<readonly Table[]> {
  const rows: string[][] = [];
  for (const size of SIZES) {
    const folder = mkdtempSync(join(tmpdir(), "mucast-bench-"));
    try {
      const matrix = writeMatrix(folder, size);
      for (const name of Object.keys(MODELS) as (keyof typeof MODELS)[]) {
        rows.push(await measured(name, matrix, folder, size));
      }
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  }
  return [
    {
      title: `pooled refits every ${EVERY} dates from date ${FIRST.toLocaleString("en-US")} on: processor seconds, best of ${RUNS}`,
      header: [
        "tickers x dates x columns",
        "fits",
        "script",
        "its read",
        "workers",
        "workers / (script + read)",
      ],
      rows,
    },
  ];
}

async function measured(
  name: keyof typeof MODELS,
  matrix: Matrix,
  folder: string,
  { tickers, dates, columns }: (typeof SIZES)[number],
): Promise<string[]> {
  const { settings } = parseMlSettings(JSON.stringify({ "ML params": MODELS[name] }));
  const scripts: Seconds[] = [];
  const workers: number[] = [];
  for (let run = 0; run < RUNS; run++) {
    scripts.push(inScript(name, matrix, settings));
    workers.push(await inPool(matrix, folder, settings));
  }
  const script = scripts.reduce((a, b) => (b.processor + b.read < a.processor + a.read ? b : a));
  const least = Math.min(...workers);
  const figures = [script.processor, script.read, least, least / (script.processor + script.read)];
  return [
    `${tickers} x ${dates} x ${columns}, ${name}`,
    String(matrix.fits.length),
    ...figures.map((value) => value.toFixed(2)),
  ];
}

/** Noise with a weak linear signal, row after row by date: first the rows to learn from, then those to predict. */
function writeMatrix(folder: string, { tickers, dates, columns }: (typeof SIZES)[number]): Matrix {
  const random = seededRandom(1);
  const rows = tickers * dates;
  const x = Float64Array.from({ length: rows * columns }, () => random.normal());
  const y = Float64Array.from({ length: rows }, (_, row) => 0.02 * x[row * columns]! + random.normal());
  const writer = new NpyWriter(join(folder, "x.npy"), [2 * rows, columns]);
  writer.append(x);
  writer.append(x);
  const starts: number[] = [];
  for (let date = FIRST; date + EVERY <= dates; date += EVERY) starts.push(date);
  return {
    x: writer.close(),
    y: writeNpy(join(folder, "y.npy"), y, [rows]),
    fits: starts.map((date) => ({
      train: [0, tickers * date],
      predict: [rows + tickers * date, rows + tickers * (date + EVERY)],
      diagnose: true,
    })),
  };
}

/** Processor seconds of one worker, from its second task on. */
async function inPool(
  { x, y, fits }: Matrix,
  folder: string,
  { estimator, scaler }: MlSettings,
): Promise<number> {
  const { python } = findEnvironment("ml");
  const libraries = ["sklearn", "lightgbm"] as const;
  const pool = EnginePool.start({ python, libraries, workFolder: folder, workers: 1 });
  const taskOf = (fit: FitPredictTask["fits"][number]): FitPredictTask => ({
    task: "fit_predict",
    estimator,
    scaler,
    x,
    y,
    fits: [fit],
    predictions: { ref: join(folder, "p.npy") },
    views: true,
  });
  const run = async (fit: FitPredictTask["fits"][number]) => {
    const { predictions } = await pool.run(taskOf(fit));
    if ("ref" in predictions) removeArray(predictions.ref);
  };
  try {
    await pool.greeting;
    await run(fits[0]!);
    const before = workerSeconds();
    for (const fit of fits.toReversed()) await run(fit);
    return workerSeconds() - before;
  } finally {
    await pool.close();
  }
}

function inScript(model: keyof typeof MODELS, { x, y, fits }: Matrix, { estimator }: MlSettings): Seconds {
  const given = JSON.stringify({ x: x.ref, y: y.ref, fits, model, params: estimator.params });
  const options = {
    input: given,
    encoding: "utf8",
    env: { ...process.env, OMP_NUM_THREADS: "1", OPENBLAS_NUM_THREADS: "1" },
  } as const;
  return JSON.parse(execFileSync(findEnvironment("ml").python, ["bench/peers/refit_script.py"], options));
}
