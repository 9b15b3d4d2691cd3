import { randomUUID } from "node:crypto";
import type { Command } from "commander";
import { blobPolicy } from "../blob/policy.ts";
import type { ResultRecord } from "../contract/result-record.ts";
import type { JobContext, JobRequest } from "../jobs/job.ts";
import { type JobFlags, jobInputs, reporterOf, withJobFlags } from "./job-options.ts";
import { untilSignal } from "./until-signal.ts";

/** A job as a command of its own. */
export interface JobCommand {
  readonly name: string;
  readonly description: string;
  /** Config of the examples, as JSON text. */
  readonly exampleConfig: string;
  readonly run: (request: JobRequest, context: JobContext) => Promise<ResultRecord>;
}

/** Of a warning that many tickers have; the output lists them all. */
const TICKERS_TOLD = 3;

/** Adds a command that runs a job and prints its result record. */
export function addJobCommand(program: Command, job: JobCommand): void {
  withJobFlags(program.command(job.name))
    .description(job.description)
    .addHelpText("after", helpOf(job))
    .action(async (flags: JobFlags) => {
      const { workers, ...inputs } = jobInputs(flags, process.env);
      const reporter = reporterOf(flags, TICKERS_TOLD);
      try {
        const record = await untilSignal((signal) =>
          job.run(
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

function helpOf({ name, exampleConfig }: JobCommand): string {
  return `
Examples:
  mucast ${name} --feature-url data/feature_engine_1.json --data-extractor-url data/data_extractor_1.json \\
      --config '${exampleConfig}'
  FEATURE_URL=… DATA_EXTRACTOR_URL=… CONFIG=… BLOB_URL=/mnt/blobs OPERATION_ID=42 mucast ${name} --log json

stdout carries the result record as one JSON object and nothing else. OPERATION_ID, where set, names the output.
Exit codes: 0 succeeded, 2 the request, 3 the data or the storage, 4 the engine, 130 cancelled, 1 a defect of mucast.`;
}
