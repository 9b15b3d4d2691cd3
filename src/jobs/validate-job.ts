import { operationsOf } from "../contract/config/payload.ts";
import { NETWORKS } from "./dl/networks.ts";
import { REGRESSORS } from "./ml/regressors.ts";
import type { JobKind, JobSettings } from "./plan.ts";
import type { JobContext, JobRequest } from "./shared/job.ts";
import { type JobPreview, previewJob } from "./shared/job-preview.ts";
import { withInputs } from "./shared/read-inputs.ts";
import { inWorkFolder } from "./shared/work-folder.ts";

/**
 * Reads both blobs like the job of the config, which is run_dl_job if it has `NN params` and no `ML params`, and returns what that job would
 * make of them.
 * @throws MucastError like reading them.
 */
export async function validateJob(request: JobRequest, context: JobContext): Promise<JobPreview> {
  const operations = operationsOf(request.config);
  return operations.length === 1 && operations[0] === "run_dl_job"
    ? validate(NETWORKS, request, context)
    : validate(REGRESSORS, request, context);
}

function validate<S extends JobSettings<S>>(
  kind: JobKind<S>,
  request: JobRequest,
  context: JobContext,
): Promise<JobPreview> {
  const config = kind.parse(request.config);
  return inWorkFolder((workFolder) =>
    withInputs(request, context, workFolder, config.settings.delay, (inputs) =>
      previewJob(kind, config, inputs, { workFolder, signal: context.signal }),
    ),
  );
}
