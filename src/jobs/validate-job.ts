import type { Operation } from "../contract/config/job-operations.ts";
import { operationsOf } from "../contract/config/payload.ts";
import { NETWORKS } from "./dl/networks.ts";
import { REGRESSORS } from "./ml/regressors.ts";
import type { JobKind, JobSettings } from "./plan.ts";
import type { JobContext, JobRequest } from "./shared/job.ts";
import { previewJob, type ValidatedJob } from "./shared/job-preview.ts";
import { withInputs } from "./shared/read-inputs.ts";
import { inWorkFolder } from "./shared/work-folder.ts";

/**
 * Reads both blobs like the job, and returns what it would make of them.
 * @param operation by default the job of the config: run_ml_job if it has the sections of both.
 * @throws MucastError like reading them.
 */
export async function validateJob(
  request: JobRequest,
  context: JobContext,
  operation: Operation = operationsOf(request.config)[0] ?? "run_ml_job",
): Promise<ValidatedJob> {
  return operation === "run_dl_job"
    ? validate(NETWORKS, request, context)
    : validate(REGRESSORS, request, context);
}

function validate<S extends JobSettings<S>>(
  kind: JobKind<S>,
  request: JobRequest,
  context: JobContext,
): Promise<ValidatedJob> {
  const config = kind.parse(request.config);
  return inWorkFolder((workFolder) =>
    withInputs(request, context, workFolder, config.settings.delay, (inputs) =>
      previewJob(kind, config, inputs, { workFolder, signal: context.signal }),
    ),
  );
}
