import { randomUUID } from "node:crypto";
import { dirname } from "node:path";
import type { Command } from "commander";
import { resolveOutput } from "../../blob/folder/output-folder.ts";
import { containerJob, spaceIn, withSpace } from "../../blob/names.ts";
import { openStore } from "../../blob/open-store.ts";
import { type BlobPolicy, blobPolicy } from "../../blob/policy.ts";
import type { BlobStore } from "../../blob/store.ts";
import {
  type Operation,
  SUBMITTED_OPERATIONS,
  type SubmittedOperation,
} from "../../contract/config/job-operations.ts";
import type { PayloadOptions } from "../../contract/config/payload-schemas.ts";
import { invalidRequest } from "../../contract/errors/faults.ts";
import { parseJson } from "../../contract/json/json-text.ts";
import type { ResultRecord } from "../../contract/output/result-record.ts";
import { publicProblem } from "../../contract/problems/public-problem.ts";
import { namedUrls } from "../../executors/job-storage.ts";
import { runOperation } from "../../executors/run-operation.ts";
import { StatusWriter } from "../../executors/status-blobs.ts";
import type { JobContext, JobRequest } from "../../jobs/shared/job.ts";
import { showJob } from "../show.ts";
import { untilSignal } from "../terminal/signals.ts";
import {
  type JobFlags,
  jobInputs,
  noticeOf,
  pairedFlags,
  reporterOf,
  tagMember,
  windowMembers,
  withEngineFlags,
  withJobFlags,
  withWindowFlags,
} from "./job-options.ts";
import { checkReportPlace, writeJobReport } from "./job-report.ts";
import { JobTracking } from "./job-tracking.ts";

export function addRunMlJob(program: Command): void {
  addJobCommand(program, {
    name: "run_ml_job",
    description: "train regressors, one per ticker or one for all, and write the output blob",
    exampleConfig: "pooled-lightgbm",
  });
}

export function addRunDlJob(program: Command): void {
  addJobCommand(program, {
    name: "run_dl_job",
    description: "train neural networks, one per ticker or one for all, and write the output blob",
    exampleConfig: "portfolio-lstm",
  });
}

interface JobCommand {
  readonly name: Operation;
  readonly description: string;
  readonly exampleConfig: string;
}

/** The number of tickers for which stderr repeats the same warning; the output lists them all. */
const TICKERS_SHOWN = 3;

function addJobCommand(program: Command, job: JobCommand): void {
  withEngineFlags(withWindowFlags(withJobFlags(program.command(job.name))))
    .option("--portable", "write the same bytes on every x86-64-v3 processor, with slower kernels")
    .option("--report", "write an HTML report beside the output (see mucast report)")
    .option("--tag <tag...>", "a label for the output, such as an experiment; several are possible")
    .description(job.description)
    .addHelpText("after", helpOf(job))
    .action(async (flags: JobFlags) => {
      const kind = operationKind(job.name, process.env);
      const mayLack = kind.operation === "replay" ? "any" : "nothing";
      const { workers, memoryBytes, cluster, clusterTasks, ...inputs } = jobInputs(
        await pairedFlags(flags, process.env),
        process.env,
        mayLack,
      );
      const tags = tagMember(flags);
      if (flags.report) checkReportPlace(inputs.blobUrl);
      const reporter = reporterOf(flags, { tickersShown: TICKERS_SHOWN, workers });
      // A service records its jobs itself, and only jobs, not audits and replays.
      const isOwn = kind.operation === job.name && !isServices(process.env);
      const tracking = isOwn ? JobTracking.begin(process.env, reporter) : undefined;
      try {
        const space = callerSpace(process.env);
        const blobUrl = inputs.blobUrl && withSpace(inputs.blobUrl, space);
        const request = { ...inputs, blobUrl, id: process.env.OPERATION_ID || randomUUID() };
        const named = namedUrls({ ...inputs, options: kind.options });
        const policy = policyOfJob({ ...process.env, BLOB_URL: inputs.blobUrl }, named);
        const record = await untilSignal(async (signal) => {
          const { portable = kind.options.portable } = flags;
          const pinned = portable === undefined ? {} : { portable };
          const options = { ...kind.options, ...windowMembers(flags), ...pinned, ...tags };
          const run: Run = (jobRequest, jobContext) =>
            runOperation({ ...kind, options }, jobRequest, jobContext);
          const means = { workers, memoryBytes, cluster, clusterTasks, notice: noticeOf(reporter) };
          const context = { ...means, policy, report: reporter.report, signal };
          const attempt = statusAttempt(process.env);
          if (attempt === undefined) return run(request, context);
          const log = (message: string) =>
            reporter.write({ level: "warning", message }, `warning: ${message}`);
          return withStatus(run, request, context, attempt, log);
        });
        process.stdout.write(`${JSON.stringify(record)}\n`);
        if (kind.operation === job.name && process.stderr.isTTY && flags.log === "text" && !flags.quiet) {
          const reading = { policy, blobUrl: request.blobUrl };
          await untilSignal((signal) => showJob(record.output_url, { ...reading, signal }, reporter));
        }
        if (flags.report) {
          await untilSignal((signal) => writeJobReport(record.output_url, { policy, signal }, reporter));
        }
        const reading = { policy, blobUrl: request.blobUrl };
        await untilSignal(async (signal) => tracking?.record(record.output_url, { ...reading, signal }));
      } finally {
        tracking?.close();
        reporter.finish();
      }
    });
}

/**
 * What the command runs: its job, or an audit or a replay if a service started the container for that.
 * @throws MucastError invalid_request.
 */
function operationKind(
  job: Operation,
  { MUCAST_OPERATION: name, MUCAST_OPTIONS: text }: NodeJS.ProcessEnv,
): { readonly operation: SubmittedOperation; readonly options: PayloadOptions } {
  const operation = name ? SUBMITTED_OPERATIONS.find((known) => known === name) : job;
  const options = text ? parseJson(text) : {};
  if (typeof options !== "object" || options === null || Array.isArray(options)) {
    throw invalidRequest([{ path: "MUCAST_OPTIONS", message: "must be a JSON object" }]);
  }
  if (operation !== undefined && containerJob(operation, options as PayloadOptions) === job) {
    return { operation, options: options as PayloadOptions };
  }
  const message = `must be an operation that ${job} runs, got ${JSON.stringify(name?.slice(0, 100))}`;
  throw invalidRequest([{ path: "MUCAST_OPERATION", message }]);
}

/** The attempt whose status a service reads; undefined if no service started this job. @throws MucastError invalid_request. */
function statusAttempt({
  OPERATION_ID,
  MUCAST_STATUS_ATTEMPT: attempt,
}: NodeJS.ProcessEnv): number | undefined {
  if (!OPERATION_ID || !attempt) return undefined;
  if (/^[1-9]\d{0,5}$/.test(attempt)) return Number(attempt);
  const path = "MUCAST_STATUS_ATTEMPT";
  throw invalidRequest([{ path, message: `must be a positive integer, got ${JSON.stringify(attempt)}` }]);
}

/**
 * What a job may read. A job that runs for a service keeps to its caller's space and the URLs that the service has checked, even
 * if all callers share the root of the container; a job that a user runs directly reads whatever BLOB_URL's credentials can
 * access.
 * @throws MucastError invalid_request.
 */
export function policyOfJob(env: NodeJS.ProcessEnv, named: readonly string[]): BlobPolicy {
  return { ...blobPolicy(env), own: isServices(env) ? { space: callerSpace(env), named } : undefined };
}

/** Whether a service started the job. @throws MucastError invalid_request. */
function isServices(env: NodeJS.ProcessEnv): boolean {
  return callerSpace(env) !== "" || statusAttempt(env) !== undefined;
}

/** The folder of BLOB_URL that holds the blobs of the service's caller. @throws MucastError invalid_request. */
function callerSpace({ MUCAST_BLOB_SPACE: space = "" }: NodeJS.ProcessEnv): string {
  if (space === "" || spaceIn(space) === space) return space;
  const path = "MUCAST_BLOB_SPACE";
  throw invalidRequest([
    { path, message: `is set by a service alone, got ${JSON.stringify(space.slice(0, 100))}` },
  ]);
}

function helpOf({ name, exampleConfig }: JobCommand): string {
  return `
Examples:
  mucast ${name} --feature-url blobs --config ${exampleConfig}
  mucast ${name} --feature-url data/feature_engine_1.json --data-extractor-url data/data_extractor_1.json --config my.json
  FEATURE_URL=… DATA_EXTRACTOR_URL=… CONFIG=… BLOB_URL=/mnt/blobs OPERATION_ID=42 mucast ${name} --log json

stdout carries only the result record, one JSON object. If OPERATION_ID is set, it names the output.
Exit codes: 0 success; 2 an error in the request, 3 in the data or the storage, 4 in the engine, 1 in mucast itself (a bug);
130 cancelled by Ctrl-C, 143 by SIGTERM, 129 by SIGHUP.`;
}

type Run = (request: JobRequest, context: JobContext) => Promise<ResultRecord>;

/**
 * Runs a job that also writes its status to `status/<id>.<attempt>.json`, beside the `data/` of its output, for the service that
 * started the container. A job that a signal stops writes no end: the signal's sender knows the reason.
 * @param log called if a status cannot be written; the job continues.
 */
async function withStatus(
  run: Run,
  request: JobRequest,
  context: JobContext,
  attempt: number,
  log: (line: string) => void,
): Promise<ResultRecord> {
  const store = await storeOf(request, context, log);
  if (store === undefined) return run(request, context);
  const status = new StatusWriter({ ...request, store, attempt, log });
  const { report, signal } = context;
  const reporting: JobContext = {
    ...context,
    onTiming: status.onTiming,
    report: (event) => {
      status.report(event);
      report(event);
    },
  };
  try {
    const record = await run(request, reporting);
    await status.writeEnd({ record });
    return record;
  } catch (error) {
    if (signal.aborted) status.stop();
    else
      await status.writeEnd({
        problem: publicProblem(error, ({ id, what, text }) => log(`${what} ${id}: ${text}`)),
      });
    throw error;
  } finally {
    await store.close();
  }
}

async function storeOf(
  { blobUrl, featureUrl }: JobRequest,
  { policy }: JobContext,
  log: (line: string) => void,
): Promise<BlobStore | undefined> {
  try {
    return await openStore(blobUrl || dirname(resolveOutput({ featureLocation: featureUrl })), { policy });
  } catch (error) {
    log(`no status can be written: ${error instanceof Error ? error.message : String(error)}`);
    return undefined;
  }
}
