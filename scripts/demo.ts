/** The complete workflow on real prices: CSV, two input blobs, three jobs, their reports, and one table that compares them. */
import { randomUUID } from "node:crypto";
import { availableParallelism } from "node:os";
import { relative } from "node:path";
import { fileURLToPath } from "node:url";
import { muRows, muTable } from "../src/cli/forecast.ts";
import { reportPath } from "../src/cli/output-commands.ts";
import { outputTable } from "../src/cli/terminal/output-table.ts";
import { explain, Reporter } from "../src/cli/terminal/reporter.ts";
import { untilSignal } from "../src/cli/terminal/signals.ts";
import { EXAMPLE_CONFIGS } from "../src/contract/config/example-configs.ts";
import type { Operation } from "../src/contract/config/job-operations.ts";
import { runOperation } from "../src/executors/run-operation.ts";
import type { JobRequest } from "../src/jobs/shared/job.ts";
import { type OutputDocument, openDocument } from "../src/outputs/open-document.ts";
import { preparePrices } from "../src/prepare/prepare-prices.ts";
import { hitRateErrorOf } from "../src/report/statistics/over-dates.ts";
import { writeReport } from "../src/report/write-report.ts";

const FOLDER = ".mucast/demo";
const LEARNING_END = "2012-12-31";

/** Three of the example's five networks, which are enough to see what they find. */
const MEMBERS = 3;

const ABOUT = `The 200 names are companies that were still in the S&P 500 in April 2021, so every figure is better than a fund would have earned.
docs/skill.md has each config on two periods, and what a desk can trade.`;

const reporter = new Reporter({ format: "text", quiet: false, stream: process.stderr });
const say = (sentence: string) => process.stderr.write(`${sentence}\n`);

/** A finished job. */
interface Run {
  readonly name: string;
  /** Path of its output. */
  readonly path: string;
  readonly document: OutputDocument;
  /** Path of its report. */
  readonly report: string;
  readonly seconds: number;
}

async function demo(signal: AbortSignal): Promise<void> {
  const csvPath = "examples/sp500-200/prices.csv.gz";
  say(`1. prepare: ${csvPath} into two input blobs`);
  const options = { learningEnd: LEARNING_END };
  const blobs = await preparePrices({ csvPath, outFolder: FOLDER, options, report: say, signal });
  say(`   ${blobs.featurePath}\n   ${blobs.dataExtractorPath}`);
  const inputs = { featureUrl: blobs.featurePath, dataExtractorUrl: blobs.dataExtractorPath };
  const runs: Run[] = [];
  for (const name of ["pooled-lightgbm", "pooled-ridge", "portfolio-lstm"]) {
    const { operation, config, summary } = EXAMPLE_CONFIGS.find((example) => example.name === name)!;
    say(`${runs.length + 2}. ${operation}, ${name}: ${summary}`);
    runs.push(await run(name, operation, JSON.stringify(ofMembers(config)), inputs, signal));
  }
  const [first] = runs as [Run, ...Run[]];
  process.stdout.write(
    `\nThe largest mu of ${first.name}, log-returns of the day after ${first.document.document.window.as_of}:\n\n`,
  );
  process.stdout.write(`${muTable(muRows(first.document).slice(0, 5))}\n\n${summary(runs)}\n\n${ABOUT}\n`);
}

function ofMembers(config: object): object {
  const networks = (config as NetworkConfig)["NN params"]?.["Dot prediction"];
  if (networks === undefined) return config;
  const training_params = { ...networks.training_params, ensemble: MEMBERS };
  return { "NN params": { "Dot prediction": { ...networks, training_params } } };
}

interface NetworkConfig {
  readonly "NN params"?: { readonly "Dot prediction": { readonly training_params: object } };
}

async function run(
  name: string,
  operation: Operation,
  config: string,
  inputs: Omit<JobRequest, "id" | "config">,
  signal: AbortSignal,
): Promise<Run> {
  const started = performance.now();
  const context = {
    workers: availableParallelism(),
    policy: { allowed: [] },
    report: reporter.report,
    signal,
  };
  const request = { ...inputs, blobUrl: undefined, config, id: randomUUID() };
  const record = await runOperation({ operation, options: {} }, request, context);
  reporter.finish();
  const seconds = (performance.now() - started) / 1_000;
  const path = fileURLToPath(record.output_url);
  const report = reportPath(path);
  await writeReport({ outputs: [path], out: report }, { policy: context.policy, signal });
  return {
    name,
    path,
    document: await openDocument(path, { policy: context.policy, signal }),
    report,
    seconds,
  };
}

/** One column per job; both forecast the same rows. */
function summary(runs: readonly Run[]): string {
  const shown = runs.map(({ name, document, seconds }) => ({
    name,
    output: document.document,
    verdict: document.document.verdict,
    hitRateError: hitRateErrorOf(document.rows),
    more: [["time", `${seconds.toFixed(1)} s`]] as const,
  }));
  const paths = runs.flatMap(({ name, path, report }) => [
    `report of ${name}: ${relative(".", report)}`,
    `output of ${name}: ${relative(".", path)}`,
  ]);
  const proof = [
    "Prove any of them by running its job once more:",
    `npm run --silent mucast -- replay --output ${relative(".", runs[0]!.path)}`,
  ];
  return [outputTable(shown), "", ...paths, "", ...proof].join("\n");
}

try {
  await untilSignal(demo);
} catch (error) {
  process.exitCode = explain(error, reporter);
}
