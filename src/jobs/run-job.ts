import type { Operation } from "../contract/config/job-operations.ts";
import type { ResultRecord } from "../contract/output/result-record.ts";
import { runDlJob } from "./dl/run-dl-job.ts";
import { runMlJob } from "./ml/run-ml-job.ts";
import type { JobContext, JobRequest } from "./shared/job.ts";

/** What runs each of the two jobs. */
export type Jobs = Readonly<
  Record<Operation, (request: JobRequest, context: JobContext) => Promise<ResultRecord>>
>;

export const JOBS: Jobs = { run_ml_job: runMlJob, run_dl_job: runDlJob };
