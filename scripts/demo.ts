/**
 * The complete workflow on real prices: CSV, two input blobs, both jobs, the recommended pooled config, reports, and one table
 * that compares them.
 */
import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { relative } from "node:path";
import { fileURLToPath } from "node:url";
import { reportPath } from "../src/cli/jobs/job-report.ts";
import { outputTable } from "../src/cli/terminal/output-table.ts";
import { explain, Reporter } from "../src/cli/terminal/reporter.ts";
import { untilSignal } from "../src/cli/terminal/signals.ts";
import type { OutputBlob } from "../src/contract/output/output-blob.ts";
import type { ResultRecord } from "../src/contract/output/result-record.ts";
import { runDlJob } from "../src/jobs/dl/run-dl-job.ts";
import { runMlJob } from "../src/jobs/ml/run-ml-job.ts";
import type { JobContext, JobRequest } from "../src/jobs/shared/job.ts";
import { scoredRows } from "../src/outputs/scored-rows.ts";
import { preparePrices } from "../src/prepare/prepare-prices.ts";
import { hitRateErrorOf } from "../src/report/statistics/over-dates.ts";
import { writeReport } from "../src/report/write-report.ts";

const EXAMPLE = "examples/sp500-prices";
const FOLDER = ".mucast/demo";
const POOLED = "examples/configs/pooled-lightgbm.json";
const WINDOW = { start: "2005-01-01", learningEnd: "2018-12-31" };

const NEXT_STEP = `Only the pooled lightgbm, which compares tickers, finds an order here: a weak one, before costs. docs/skill.md shows what it
finds in 200 tickers.`;

const reporter = new Reporter({ format: "text", quiet: false, stream: process.stderr });
const say = (sentence: string) => process.stderr.write(`${sentence}\n`);

/** A finished job: its record, its output, its report, and its duration. */
interface Run {
  readonly name: string;
  readonly record: ResultRecord;
  readonly output: OutputBlob;
  /** Path of its report. */
  readonly report: string;
  readonly seconds: number;
}

async function demo(signal: AbortSignal): Promise<void> {
  const csvPath = `${EXAMPLE}/prices.csv.gz`;
  say(`1. prepare: ${csvPath} into two input blobs`);
  const blobs = await preparePrices({ csvPath, outFolder: FOLDER, options: WINDOW, report: say, signal });
  say(`   ${blobs.featurePath}\n   ${blobs.dataExtractorPath}`);
  const inputs = { featureUrl: blobs.featurePath, dataExtractorUrl: blobs.dataExtractorPath };
  say(`2. run_ml_job: lightgbm, walk-forward folds, intervals; learning ends ${blobs.learningEnd}`);
  const ml = await run("lightgbm", runMlJob, `${EXAMPLE}/ml-config.json`, inputs, signal);
  say(
    "3. run_ml_job: one lightgbm for all tickers on relative returns, the recommended config for large panels",
  );
  const pooled = await run("pooled lightgbm", runMlJob, POOLED, inputs, signal);
  say("4. run_dl_job: an lstm for each ticker, intervals, the same rows");
  const dl = await run("lstm", runDlJob, `${EXAMPLE}/dl-config.json`, inputs, signal);
  const runs = [ml, pooled, dl];
  for (const { record } of runs) process.stdout.write(`${JSON.stringify(record)}\n`);
  process.stdout.write(`\n${summary(runs)}\n\n${NEXT_STEP}\n`);
}

async function run(
  name: string,
  job: (request: JobRequest, context: JobContext) => Promise<ResultRecord>,
  configPath: string,
  inputs: Omit<JobRequest, "id" | "config">,
  signal: AbortSignal,
): Promise<Run> {
  const started = performance.now();
  const workers = availableParallelism();
  const context = { workers, policy: { allowed: [] }, report: reporter.report, signal };
  const record = await job(
    { ...inputs, config: readFileSync(configPath, "utf8"), id: randomUUID() },
    context,
  );
  reporter.finish();
  const seconds = (performance.now() - started) / 1_000;
  const path = fileURLToPath(record.output_url);
  const output: OutputBlob = JSON.parse(readFileSync(path, "utf8"));
  const report = reportPath(path);
  await writeReport({ outputs: [path], out: report }, { policy: context.policy, signal });
  return { name, record, output, report, seconds };
}

/** One column per job; both forecast the same rows. */
function summary(runs: readonly Run[]): string {
  const shown = runs.map(({ seconds, ...run }) => ({
    ...run,
    verdict: run.output.verdict,
    hitRateError: hitRateErrorOf(scoredRows(run.name, run.output)),
    more: [["time", `${seconds.toFixed(1)} s`]] as const,
  }));
  const paths = runs.map(({ record }) => relative(".", fileURLToPath(record.output_url)));
  const outputs = runs.map(({ name }, i) => `${name}: ${paths[i]}`);
  const reports = runs.map(({ name, report }) => `report of ${name}: ${relative(".", report)}`);
  const proof = [
    "Prove any of them by running its job once more:",
    `npm run --silent mucast -- replay --output ${paths[0]}`,
  ];
  return [outputTable(shown), "", ...outputs, ...reports, "", ...proof].join("\n");
}

try {
  await untilSignal(demo);
} catch (error) {
  process.exitCode = explain(error, reporter);
}
