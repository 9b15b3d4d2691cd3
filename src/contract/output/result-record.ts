import { z } from "zod";
import { JOB_OPERATIONS, SUBMITTED_OPERATIONS } from "../config/job-operations.ts";
import * as s from "../schema/open-schema.ts";

/**
 * The answer of a job that succeeded; the command line writes exactly this to stdout. An audit or a replay succeeds whenever it
 * has a verdict, even a bad one.
 */
export const resultRecordSchema = s.staysExact(
  s.titled("ResultRecord", "Result record", {
    status: z.literal("Succeeded"),
    output_url: s.text("URL of the output blob; for a job, the portfolio optimizer's input_url."),
    output_name: z.string().regex(/^(ml_engine|nn_engine|audit|replay)_[A-Za-z0-9_-]{1,64}\.json$/),
    execution_name: s.text("The job's name and a unique suffix: dl-job-… or ml-worker-job-…"),
  }),
);

export type ResultRecord = z.infer<typeof resultRecordSchema>;

export const jobOperationSchema = s.mayGrow(z.enum(JOB_OPERATIONS).meta({ id: "JobOperation" }));

export const submittedOperationSchema = s.mayGrow(
  z.enum(SUBMITTED_OPERATIONS).meta({ id: "SubmittedOperation" }),
);
