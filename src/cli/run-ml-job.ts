import { randomUUID } from "node:crypto";
import type { Command } from "commander";
import { blobPolicy } from "../blob/policy.ts";
import { runMlJob } from "../jobs/run-ml-job.ts";
import { type JobFlags, jobInputs, reporterOf, withJobFlags } from "./job-options.ts";
import { untilSignal } from "./until-signal.ts";

const HELP = `
Examples:
  mucast run_ml_job --feature-url data/feature_engine_1.json --data-extractor-url data/data_extractor_1.json \\
      --config '{"ML params": {"model": "lightgbm", "intervals": {}}}'
  FEATURE_URL=… DATA_EXTRACTOR_URL=… CONFIG=… BLOB_URL=/mnt/blobs OPERATION_ID=42 mucast run_ml_job --log json

stdout carries the result record as one JSON object and nothing else. OPERATION_ID, where set, names the output.
Exit codes: 0 succeeded, 2 the request, 3 the data or the storage, 4 the engine, 130 cancelled, 1 a defect of mucast.`;

/** Of a warning that many tickers have; the output lists them all. */
const TICKERS_TOLD = 3;

export function addRunMlJob(program: Command): void {
  withJobFlags(program.command("run_ml_job"))
    .description("train one regressor per ticker and write the output blob")
    .addHelpText("after", HELP)
    .action(async (flags: JobFlags) => {
      const { workers, ...inputs } = jobInputs(flags, process.env);
      const reporter = reporterOf(flags, TICKERS_TOLD);
      try {
        const record = await untilSignal((signal) =>
          runMlJob(
            { ...inputs, id: process.env.OPERATION_ID || randomUUID() },
            {
              workers,
              policy: blobPolicy({ ...process.env, BLOB_URL: inputs.blobUrl }),
              report: reporter.report,
              signal,
            },
          ),
        );
        process.stdout.write(`${JSON.stringify(record)}\n`);
      } finally {
        reporter.finish();
      }
    });
}
