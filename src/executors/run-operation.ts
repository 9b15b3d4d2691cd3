import { runAuditJob } from "../audit/run-audit.ts";
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

const RUNS: { readonly [K in SubmittedOperation]: Run<K> } = {
  run_ml_job: (request, { portable, tags, ...window }, context) =>
    runMlJob({ ...request, window: requestedWindow(window), tags }, { ...context, portable }),
  run_dl_job: (request, { portable, tags, ...window }, context) =>
    runDlJob({ ...request, window: requestedWindow(window), tags }, { ...context, portable }),
  audit: runAuditJob,
  replay: runReplayJob,
};

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
