/** The whole way on real prices: CSV, two input blobs, run_ml_job, and what a quant wants to see of it. */
import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { relative } from "node:path";
import { fileURLToPath } from "node:url";
import { explain } from "../src/cli/explain.ts";
import { Reporter } from "../src/cli/reporter.ts";
import { untilSignal } from "../src/cli/until-signal.ts";
import type { OutputBlob } from "../src/contract/output-blob.ts";
import { runMlJob } from "../src/jobs/run-ml-job.ts";
import { preparePrices } from "../src/prepare/prepare-prices.ts";

const PRICES = "examples/sp500-prices/prices.csv.gz";
const CONFIG = "examples/sp500-prices/ml-config.json";
const FOLDER = ".mucast/demo";
const WINDOW = { start: "2005-01-01", learningEnd: "2018-12-31" };

const reporter = new Reporter({ format: "text", quiet: false, stream: process.stderr });
const say = (sentence: string) => process.stderr.write(`${sentence}\n`);

async function demo(signal: AbortSignal): Promise<void> {
  const started = performance.now();
  say(`1. prepare: ${PRICES} into two input blobs`);
  const blobs = await preparePrices({
    csvPath: PRICES,
    outFolder: FOLDER,
    options: WINDOW,
    report: say,
    signal,
  });
  say(`   ${blobs.featurePath}\n   ${blobs.dataExtractorPath}`);
  say(`2. run_ml_job: lightgbm, walk-forward folds, intervals; learning ends ${blobs.learningEnd}`);
  const record = await runMlJob(
    {
      featureUrl: blobs.featurePath,
      dataExtractorUrl: blobs.dataExtractorPath,
      config: readFileSync(CONFIG, "utf8"),
      id: randomUUID(),
    },
    { workers: availableParallelism(), policy: { allowed: [] }, report: reporter.report, signal },
  );
  reporter.finish();
  const seconds = (performance.now() - started) / 1_000;
  const place = fileURLToPath(record.output_url);
  const output: OutputBlob = JSON.parse(readFileSync(place, "utf8"));
  process.stdout.write(`${JSON.stringify(record)}\n\n${summary(output, seconds, place)}\n`);
}

function summary(output: OutputBlob, seconds: number, place: string): string {
  const { score, intervals, baselines } = output.metrics;
  const { cross_section: across, pooled } = score;
  const percent = (share: number | null | undefined) =>
    share == null ? "-" : `${(100 * share).toFixed(1)} %`;
  const figure = (value: number | null) => (value === null ? "-" : value.toFixed(4));
  const fitRows = Object.values(output.cross_validation ?? {}).map(
    (entry) => entry.folds.at(-1)?.train_rows ?? 0,
  );
  const rows: [string, string][] = [
    ["tickers with a forecast", `${Object.keys(output.mu).length} as of ${output.window.as_of}`],
    ["rows learned from, last fold", String(fitRows.reduce((sum, n) => sum + n, 0))],
    ["rows scored, with labels", String(pooled.n)],
    [`IC (mean of ${across.dates} dates)`, figure(across.ic_mean)],
    ["RankIC", figure(across.rank_ic_mean)],
    [
      "hit rate (model, historical mean)",
      `${percent(pooled.hit_rate)}, ${percent(baselines.mean.score.pooled.hit_rate)}`,
    ],
    ["RMSE (model, zero forecast)", `${figure(pooled.rmse)}, ${figure(baselines.zero.score.pooled.rmse)}`],
    [
      "coverage asked, got",
      `${percent(intervals && 1 - intervals.alpha)}, ${percent(intervals?.pooled.coverage)}`,
    ],
    ["time", `${seconds.toFixed(1)} s`],
    ["output", relative(".", place)],
  ];
  const width = Math.max(...rows.map(([label]) => label.length));
  return rows.map(([label, value]) => `${label.padEnd(width)}  ${value}`).join("\n");
}

try {
  await untilSignal(demo);
} catch (error) {
  process.exitCode = explain(error, reporter);
}
