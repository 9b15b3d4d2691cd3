/**
 * Whole jobs compared with their floor and with a plain Python script. The floor is library import + sum of one-thread fit times / cores,
 * which no scheduling can beat. Import and fits are measured in the same run by the plain script with one thread; the script with the
 * library's own threads is what a user would write.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { findEnvironment } from "../../src/engine/environment/environment.ts";
import { preparePrices } from "../../src/prepare/prepare-prices.ts";
import type { Table } from "../bench.ts";

const PRICES = "test/cases/sp500-20/prices.csv.gz";
/** First of the last 2,500 trading days of the demo data; earlier prices still feed the windows of the features. */
const START = "2013-01-25";

const MODELS: Readonly<Record<string, object>> = {
  lightgbm: { n_estimators: 100 },
  xgboost: { n_estimators: 100 },
  catboost: { iterations: 100 },
  // Forests of 100 trees of the default depth on all features take 30 times as long and show the same.
  random_forest: { n_estimators: 30, max_features: "sqrt", min_samples_leaf: 20 },
  ridge: {},
};

interface ScriptTimes {
  readonly import: number;
  readonly fit: number;
  readonly fits: number;
  readonly total: number;
}

/** @param options the models, such as `ridge lightgbm`; all if there are none. */
export async function benchWholeJob(options: readonly string[]): Promise<readonly Table[]> {
  const models = options.length > 0 ? options : Object.keys(MODELS);
  const folder = mkdtempSync(join(tmpdir(), "mucast-bench-"));
  try {
    const blobs = await preparePrices({ csvPath: PRICES, outFolder: folder, options: { start: START } });
    const rows = models.map((model) => {
      const config = join(folder, `${model}.json`);
      const params = { model, model_params: MODELS[model], cv_test_size: 15, n_splits: 15 };
      writeFileSync(config, JSON.stringify({ "ML params": params }));
      return measure(model, blobs.featurePath, blobs.dataExtractorPath, config);
    });
    return [
      {
        title: `whole job: ${blobs.tickers.length} tickers, ${blobs.dates} days, ${blobs.features.length} features, 15 x 15`,
        header: [
          "model",
          "fits",
          "import s",
          "one-thread fits s",
          "floor s",
          "mucast s",
          "limit s",
          "mucast/floor",
          "script s",
          "script/mucast",
        ],
        rows,
      },
    ];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function measure(model: string, features: string, prices: string, config: string): string[] {
  const oneThread = script(features, prices, config, 1);
  const mucast = mucastSeconds(features, prices, config);
  const usual = script(features, prices, config, 0);
  const floor = oneThread.import + oneThread.fit / availableParallelism();
  const figures = [oneThread.import, oneThread.fit, floor, mucast, 1.15 * floor + 1, mucast / floor];
  return [
    model,
    String(oneThread.fits),
    ...figures.map((value) => value.toFixed(2)),
    usual.total.toFixed(2),
    (usual.total / mucast).toFixed(2),
  ];
}

function script(features: string, prices: string, config: string, threads: number): ScriptTimes {
  const args = ["bench/peers/plain_script.py", features, prices, config, String(threads)];
  return JSON.parse(run(findEnvironment("ml").python, args));
}

function mucastSeconds(features: string, prices: string, config: string): number {
  const started = performance.now();
  run(process.execPath, [
    "src/cli/main.ts",
    "run_ml_job",
    "--quiet",
    ...["--feature-url", features],
    ...["--data-extractor-url", prices],
    ...["--config", config],
  ]);
  return (performance.now() - started) / 1_000;
}

function run(command: string, args: readonly string[]): string {
  const done = spawnSync(command, args, { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
  if (done.status !== 0) throw new Error(`${command} ${args.join(" ")} failed:\n${done.stderr}`);
  return done.stdout;
}
