import { z } from "zod";
import { JOB_OPERATIONS, SUBMITTED_OPERATIONS } from "../config/job-operations.ts";
import { mayGrow } from "../schema/open-schema.ts";

/** The name of a job's operation in files and answers of mucast. */
export const jobOperationSchema = mayGrow(z.enum(JOB_OPERATIONS).meta({ id: "JobOperation" }));

/** The name of an operation that a caller submits, likewise. */
export const submittedOperationSchema = mayGrow(
  z.enum(SUBMITTED_OPERATIONS).meta({ id: "SubmittedOperation" }),
);
