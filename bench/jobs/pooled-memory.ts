/** Peak memory of pooled jobs with z-scores, over all their processes, compared with what the job reserves for a fit. Linux only. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseMlSettings } from "../../src/contract/config/ml-settings.ts";
import { workerBytes } from "../../src/jobs/ml/fit-estimates.ts";
import { matrixBytes } from "../../src/jobs/ml/pooled-matrix.ts";
import { writeLargeMarket } from "../networks/large-market.ts";
import { watchedJob } from "../networks/network-memory.ts";
import type { Table } from "../table.ts";

const SIZE = { tickers: 500, days: 2_500, features: 26 };

/** Few trees: except for forests, the memory of a fit does not grow with them. */
const MODELS: Readonly<Record<string, object>> = {
  lightgbm: {
    model_params: { n_estimators: 20, learning_rate: 0.02, min_child_samples: 2_000, reg_lambda: 50 },
  },
  xgboost: { model_params: { n_estimators: 5, max_depth: 5 } },
  ridge: { scaler: "standard" },
};

export async function benchPooledMemory(): Promise<Table> {
  const folder = mkdtempSync(join(tmpdir(), "mucast-bench-"));
  try {
    const { featurePath, dataExtractorPath } = await writeLargeMarket(folder, SIZE);
    const rows = SIZE.tickers * (SIZE.days - 1);
    const columns = 2 * SIZE.features;
    const matrix = matrixBytes({ learnRows: rows, scoreRows: SIZE.tickers }, columns);
    const gigabytes = (bytes: number) => (bytes / 1e9).toFixed(2);
    const measured: string[][] = [];
    for (const [model, params] of Object.entries(MODELS)) {
      const settings = {
        model,
        fit: "pooled",
        target: "relative",
        cross_section: true,
        n_splits: 3,
        ...params,
      };
      const config = JSON.stringify({ "ML params": settings });
      const demand = workerBytes({ rows, columns, hasAbsent: false }, parseMlSettings(config).settings);
      const { anonymous, withFiles, seconds } = await watchedJob(
        "run_ml_job",
        config,
        featurePath,
        dataExtractorPath,
      );
      measured.push([model, ...[demand, anonymous, withFiles].map(gigabytes), seconds.toFixed(0)]);
    }
    return {
      title: `pooled fits: ${SIZE.tickers} tickers x ${SIZE.days} dates x ${columns} columns, a matrix of ${gigabytes(matrix)} GB, 4 fits`,
      header: ["", "demand of a fit GB", "peak GB", "with mapped files GB", "seconds"],
      rows: measured,
    };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
