import type { Operation } from "../contract/config/job-operations.ts";
import { operationsOf } from "../contract/config/payload.ts";
import { previewDl } from "./dl/dl-preview.ts";
import { previewMl } from "./ml/ml-preview.ts";
import type { JobContext, JobRequest } from "./shared/job.ts";
import { type JobPreview, type PreviewedConfig, previewJob } from "./shared/job-preview.ts";
import { openInputs } from "./shared/read-inputs.ts";
import { openWorkFolder } from "./shared/work-folder.ts";

/** How each job parses its config and plans its tickers. */
const PREVIEWS: Readonly<Record<Operation, (config: string) => PreviewedConfig>> = {
  run_ml_job: previewMl,
  run_dl_job: previewDl,
};

/** Reads both blobs like the job of the config, and returns what that job would make of them. @throws MucastError like reading them. */
export async function validateJob(request: JobRequest, context: JobContext): Promise<JobPreview> {
  const config = PREVIEWS[operationOf(request.config)](request.config);
  const work = openWorkFolder();
  try {
    const inputs = await openInputs(request, context, work.path, config.panel.delay);
    try {
      return await previewJob(inputs, config, work.path);
    } finally {
      await inputs.close();
    }
  } finally {
    work.remove();
  }
}

/** run_dl_job if the config has `NN params` and no `ML params`, else run_ml_job. */
function operationOf(text: string): Operation {
  const operations = operationsOf(text);
  return operations.length === 1 ? operations[0]! : "run_ml_job";
}
