import { z } from "zod";
import { STAGES } from "./events.ts";
import { mayGrow } from "./open-schema.ts";
import { problemSchema } from "./problem.ts";
import { resultRecordSchema } from "./result-record.ts";
import { warningSchema } from "./warnings.ts";

/** The two jobs, by the names of their operations. */
export const JOB_OPERATIONS = ["run_ml_job", "run_dl_job"] as const;
export type Operation = (typeof JOB_OPERATIONS)[number];

/** What becomes of an operation: NotStarted, Running, then one of the last three for good. */
export const OPERATION_STATUSES = ["NotStarted", "Running", "Succeeded", "Failed", "Canceled"] as const;
export type OperationStatus = (typeof OPERATION_STATUSES)[number];

export function isEnded(status: OperationStatus): boolean {
  return status !== "NotStarted" && status !== "Running";
}

const moment = z.iso.datetime().describe("UTC, ISO 8601 with milliseconds.");

/** How far a running operation is; units as the stage counts them (bytes, fits or epochs). */
export const progressSchema = z
  .strictObject({
    stage: mayGrow(z.enum(STAGES)),
    done: z.int().nonnegative(),
    total: z.int().nonnegative().nullable(),
  })
  .meta({ id: "Progress" });

/** A job as its caller sees it. */
export const operationSchema = z
  .strictObject({
    id: z.string().regex(/^[A-Za-z0-9_-]{1,64}$/),
    operation: mayGrow(z.enum(JOB_OPERATIONS)),
    status: z.enum(OPERATION_STATUSES),
    created_at: moment,
    started_at: moment.nullable().describe("When an attempt first ran."),
    finished_at: moment.nullable(),
    progress: progressSchema.nullable(),
    warnings: z.array(warningSchema).describe("At most 200 of them; the output lists all."),
    result: resultRecordSchema.nullable().describe("Of an operation that succeeded."),
    error: problemSchema.nullable().describe("Of one that failed or was cancelled."),
  })
  .meta({ id: "Operation", title: "Operation" });

export type OperationView = z.infer<typeof operationSchema>;

/** One page of operations, newest first. */
export const operationPageSchema = z
  .strictObject({
    operations: z.array(operationSchema),
    next_cursor: z.string().nullable().describe("Give it as `cursor` for the next page; null on the last."),
  })
  .meta({ id: "OperationPage" });

export type OperationPage = z.infer<typeof operationPageSchema>;
