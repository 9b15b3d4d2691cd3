import { randomUUID } from "node:crypto";
import { dirname } from "node:path";
import type { Command } from "commander";
import { resolveOutput } from "../blob/folder/output-folder.ts";
import { isRemoteUrl } from "../blob/location.ts";
import { containerJob, spaceIn, withSpace } from "../blob/names.ts";
import { openStore } from "../blob/open-store.ts";
import { type BlobPolicy, blobPolicy, redactUrl } from "../blob/policy.ts";
import { type Operation, SUBMITTED_OPERATIONS } from "../contract/config/job-operations.ts";
import { OPTION_SCHEMAS, type PayloadOptions } from "../contract/config/payload-schemas.ts";
import { MucastError } from "../contract/errors/errors.ts";
import { show } from "../contract/errors/faults.ts";
import { printable } from "../contract/errors/wording.ts";
import { parseJson } from "../contract/json/json-text.ts";
import type { ResultRecord } from "../contract/output/result-record.ts";
import { publicProblem } from "../contract/problems/public-problem.ts";
import { namedUrls } from "../executors/job-storage.ts";
import { runOperation } from "../executors/run-operation.ts";
import { StatusWriter } from "../executors/status-blobs.ts";
import type { JobContext, JobRequest } from "../jobs/shared/job.ts";
import type { Reading } from "../outputs/open-document.ts";
import { openTrackedOutput } from "../tracking/tracked-output.ts";
import { trackerOf, trackRun } from "../tracking/tracker.ts";
import { addCommand, type FlagsOf, JOB_OPTIONS, membersOf, refusal } from "./command.ts";
import { jobInputs, jobResources, withReporter } from "./job-inputs.ts";
import { tableOf, writeJobReport } from "./output-commands.ts";
import type { Reporter } from "./terminal/reporter.ts";

const OPTIONS = {
  ...JOB_OPTIONS,
  portable: ["--portable", "write the same bytes on every x86-64-v3 processor, with slower kernels"],
  report: ["--report", "write an HTML report beside the output (see mucast report)"],
  tags: ["--tag <tag...>", "a label for the output, such as an experiment; several are possible"],
} as const;

export function addJobs(program: Command): void {
  const add = (job: Operation, trains: string, example: string) =>
    addCommand(program, job, {
      about: `train ${trains}, one per ticker or one for all, and write the output blob`,
      options: OPTIONS,
      help: `
Examples:
  mucast ${job} --feature-url blobs --config ${example}
  mucast ${job} --feature-url data/feature_engine_1.json --data-extractor-url data/data_extractor_1.json --config my.json
  FEATURE_URL=… DATA_EXTRACTOR_URL=… CONFIG=… BLOB_URL=/mnt/blobs OPERATION_ID=42 mucast ${job} --log json

stdout carries only the result record, one JSON object. If OPERATION_ID is set, it names the output.
Exit codes: 0 success; 2 an error in the request, 3 in the data or the storage, 4 in the engine, 1 in mucast itself (a bug);
130 cancelled by Ctrl-C, 143 by SIGTERM, 129 by SIGHUP on a terminal.`,
      run: (flags) => runJob(job, flags),
    });
  add("run_ml_job", "regressors", "pooled-lightgbm");
  add("run_dl_job", "neural networks", "portfolio-lstm");
}

async function runJob(job: Operation, flags: FlagsOf<typeof OPTIONS>): Promise<void> {
  const order = containerOrder(job, process.env);
  const isJob = order.operation === job;
  const resources = jobResources(flags);
  const shown = { tickersShown: 3, workers: resources.workers };
  await withReporter(flags, shown, async (reporter, running) => {
    const members = membersOf(OPTION_SCHEMAS[job], flags, OPTIONS);
    const options = { ...order.options, ...members };
    const inputs = await jobInputs(flags, reporter, order.operation === "replay");
    if (flags.report) checkReportPlace(inputs.blobUrl);
    const blobUrl = inputs.blobUrl && withSpace(inputs.blobUrl, order.space);
    const request = { ...inputs, blobUrl, id: process.env.OPERATION_ID || randomUUID() };
    // A job that a service runs keeps to its caller's space and to the URLs that the service has checked, even if all callers share the
    // root of the container.
    const own = { space: order.space, named: namedUrls({ ...inputs, options: order.options }) };
    const policy: BlobPolicy = {
      ...blobPolicy({ ...process.env, BLOB_URL: inputs.blobUrl }),
      own: order.isOfService ? own : undefined,
    };
    const run = (context: JobContext) => runOperation({ ...order, options }, request, context);
    const record = await withStatus(
      run,
      request,
      { ...resources, ...running, policy },
      order.attempt,
      reporter,
    );
    process.stdout.write(`${JSON.stringify(record)}\n`);
    const reading = { policy, blobUrl, signal: running.signal };
    if (isJob && process.stderr.isTTY && flags.log === "text" && !flags.quiet) {
      await reporter.warnIfFails("no table", running.signal, async () => {
        process.stderr.write(await tableOf([record.output_url], reading));
      });
    }
    if (flags.report) await writeJobReport(record.output_url, reading, reporter);
    // A service records its jobs itself, and only jobs, not audits and replays.
    if (isJob && !order.isOfService) await trackJob(record.output_url, reading, process.env, reporter);
  });
}

/**
 * What a service has started the container for: its operation with its options, the attempt whose status it reads, and the folder of
 * BLOB_URL with the blobs of its caller. Without a service, the job itself.
 * @throws MucastError invalid_request for a variable that no service sets so.
 */
export function containerOrder(job: Operation, env: NodeJS.ProcessEnv) {
  const { MUCAST_OPERATION: name, MUCAST_OPTIONS: text, MUCAST_BLOB_SPACE: space = "" } = env;
  const refuse = (path: string, rule: string, value: unknown): never => {
    throw refusal(path, `${rule}, got ${show(value)}`);
  };
  const options = text ? parseJson(text) : {};
  if (typeof options !== "object" || options === null || Array.isArray(options))
    return refuse("MUCAST_OPTIONS", "must be a JSON object", options);
  const operation = name ? SUBMITTED_OPERATIONS.find((known) => known === name) : job;
  if (operation === undefined || containerJob(operation, options as PayloadOptions) !== job)
    return refuse("MUCAST_OPERATION", `must be an operation that ${job} runs`, name);
  const attempt = env.OPERATION_ID ? env.MUCAST_STATUS_ATTEMPT : undefined;
  if (attempt && !/^[1-9]\d{0,5}$/.test(attempt))
    return refuse("MUCAST_STATUS_ATTEMPT", "must be a positive integer", attempt);
  if (space !== "" && spaceIn(space) !== space)
    return refuse("MUCAST_BLOB_SPACE", "is set by a service alone", space);
  return {
    operation,
    options: options as PayloadOptions,
    space,
    attempt: attempt ? Number(attempt) : undefined,
    isOfService: space !== "" || Boolean(attempt),
  };
}

/** A container has no place for a page. @throws MucastError invalid_request. */
function checkReportPlace(blobUrl: string | undefined): void {
  if (blobUrl === undefined || !isRemoteUrl(blobUrl)) return;
  const value = redactUrl(blobUrl);
  const message = `--report needs an output in a folder, but BLOB_URL is ${value}: run the job without --report, then mucast report --output URL --out FILE`;
  throw new MucastError("invalid_request", message, { path: "--report", value });
}

/**
 * Runs a job that also writes its status to `status/<id>.<attempt>.json`, beside the `data/` of its output, for the service that
 * started the container. A job that a signal stops writes no end: the signal's sender knows the reason. Without an attempt, no service
 * reads the status.
 */
async function withStatus(
  run: (context: JobContext) => Promise<ResultRecord>,
  request: JobRequest,
  context: JobContext,
  attempt: number | undefined,
  reporter: Reporter,
): Promise<ResultRecord> {
  if (attempt === undefined) return run(context);
  const log = (message: string) => reporter.write({ level: "warning", message }, `warning: ${message}`);
  const place = request.blobUrl || dirname(resolveOutput({ featureLocation: request.featureUrl }));
  const store = await openStore(place, { policy: context.policy }).catch((error: unknown) => {
    log(`no status can be written: ${error instanceof Error ? error.message : String(error)}`);
  });
  if (store === undefined) return run(context);
  const status = new StatusWriter({ ...request, store, attempt, log });
  const report: JobContext["report"] = (event) => {
    status.report(event);
    context.report(event);
  };
  try {
    const record = await run({ ...context, onTiming: status.onTiming, report });
    await status.writeEnd({ record });
    return record;
  } catch (error) {
    if (context.signal.aborted) status.stop();
    else {
      const problem = publicProblem(error, ({ id, what, text }) => log(`${what} ${id}: ${text}`));
      await status.writeEnd({ problem });
    }
    throw error;
  } finally {
    await store.close();
  }
}

/** Milliseconds that a finished job waits for each answer of its tracker, and that the upload of its output may take. */
const TRACKING = { requestMs: 5_000, totalMs: 60_000 };

/** Records an output at the tracker of the environment. One line on stderr says where the run is, or why there is none. */
export async function trackJob(
  outputUrl: string,
  reading: Reading & { readonly signal: AbortSignal },
  env: NodeJS.ProcessEnv,
  reporter: Reporter,
  waits = TRACKING,
): Promise<void> {
  await reporter.warnIfFails("the job is not recorded in MLflow", reading.signal, async () => {
    const tracker = trackerOf(env);
    if (tracker === undefined) return;
    const output = await openTrackedOutput(outputUrl, reading);
    const run = await trackRun(output, tracker, reading.signal, waits);
    const lacks = run.artifacts ? "" : ", without artifacts, which the server does not accept";
    reporter.write({ level: "info", mlflow: run }, printable(`mlflow: ${run.url}${lacks}`));
  });
}
