import { randomUUID } from "node:crypto";
import type { Command } from "commander";
import { spaceIn, withSpace } from "../blob/names.ts";
import { blobPolicy } from "../blob/policy.ts";
import { invalidRequest } from "../contract/errors/faults.ts";
import type { ResultRecord } from "../contract/output/result-record.ts";
import type { JobContext, JobRequest } from "../jobs/shared/job.ts";
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
      const { workers, memoryBytes, ...inputs } = jobInputs(flags, process.env);
      const reporter = reporterOf(flags, { tickersTold: TICKERS_TOLD, workers });
      try {
        const blobUrl = inputs.blobUrl && withSpace(inputs.blobUrl, callersSpace(process.env));
        const request = { ...inputs, blobUrl, id: process.env.OPERATION_ID || randomUUID() };
        const policy = blobPolicy({ ...process.env, BLOB_URL: inputs.blobUrl });
        const record = await untilSignal(async (signal) => {
          const context = { workers, memoryBytes, policy, report: reporter.report, signal };
          const attempt = statusAttempt(process.env);
          if (attempt === undefined) return job.run(request, context);
          const { withStatus } = await import("./with-status.ts");
          const log = (message: string) =>
            reporter.tell({ level: "warning", message }, `warning: ${message}`);
          return withStatus(job.run, request, context, attempt, log);
        });
        process.stdout.write(`${JSON.stringify(record)}\n`);
      } finally {
        reporter.finish();
      }
    });
}

/** The attempt whose status a service wants to read; undefined where none does. @throws MucastError invalid_request. */
function statusAttempt({
  OPERATION_ID,
  MUCAST_STATUS_ATTEMPT: attempt,
}: NodeJS.ProcessEnv): number | undefined {
  if (!OPERATION_ID || !attempt) return undefined;
  if (/^[1-9]\d{0,5}$/.test(attempt)) return Number(attempt);
  const path = "MUCAST_STATUS_ATTEMPT";
  throw invalidRequest([{ path, message: `must be a positive integer, got ${JSON.stringify(attempt)}` }]);
}

/** Where in BLOB_URL the caller of a service has its blobs. @throws MucastError invalid_request. */
function callersSpace({ MUCAST_BLOB_SPACE: space = "" }: NodeJS.ProcessEnv): string {
  if (space === "" || spaceIn(space) === space) return space;
  const path = "MUCAST_BLOB_SPACE";
  throw invalidRequest([
    { path, message: `is set by a service alone, got ${JSON.stringify(space.slice(0, 100))}` },
  ]);
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
