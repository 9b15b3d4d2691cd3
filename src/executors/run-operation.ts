import { runAuditJob } from "../audit/audit-job.ts";
import type { SubmittedOperation } from "../contract/config/job-operations.ts";
import { OPTION_SCHEMAS, type PayloadOptions, requestedWindow } from "../contract/config/payload-schemas.ts";
import { faultsOf, invalidRequest } from "../contract/errors/faults.ts";
import type { ResultRecord } from "../contract/output/result-record.ts";
import { runDlJob, runMlJob } from "../jobs/run-job.ts";
import type { JobContext, JobRequest } from "../jobs/shared/job.ts";
import { runReplayJob } from "../replay/replay.ts";

type Run<K extends SubmittedOperation> = (
  request: JobRequest,
  options: ReturnType<(typeof OPTION_SCHEMAS)[K]["parse"]>,
  context: JobContext,
) => Promise<ResultRecord>;

/** What runs each operation. An operation without an entry does not compile. */
const RUNS: { readonly [K in SubmittedOperation]: Run<K> } = {
  run_ml_job: (request, { portable, tags, ...window }, context) =>
    runMlJob({ ...request, window: requestedWindow(window), tags }, { ...context, portable }),
  run_dl_job: (request, { portable, tags, ...window }, context) =>
    runDlJob({ ...request, window: requestedWindow(window), tags }, { ...context, portable }),
  audit: runAuditJob,
  replay: runReplayJob,
};

/**
 * Runs an operation and returns its record. @param options its payload without the three inputs.
 * @throws MucastError invalid_request for options that the operation does not have; errors of the run.
 */
export function runOperation(
  { operation, options }: { readonly operation: SubmittedOperation; readonly options: PayloadOptions },
  request: JobRequest,
  context: JobContext,
): Promise<ResultRecord> {
  const schema = OPTION_SCHEMAS[operation];
  const parsed = schema.safeParse(options);
  if (!parsed.success) throw invalidRequest(faultsOf(parsed.error, schema, "options", options));
  return (RUNS[operation] as Run<SubmittedOperation>)(request, parsed.data as never, context);
}
