import { z } from "zod";
import { codeCountsSchema, progressSchema } from "../output/job-events.ts";
import { submittedOperationSchema } from "../output/operation-schemas.ts";
import { resultRecordSchema } from "../output/result-record.ts";
import { failureSchema } from "../problems/failures.ts";
import { problemSchema } from "../problems/problem.ts";
import { warningSchema } from "../problems/warnings.ts";

/** The states of an operation: NotStarted, Running, then one of the last three, which is final. */
export const OPERATION_STATUSES = ["NotStarted", "Running", "Succeeded", "Failed", "Canceled"] as const;
export type OperationStatus = (typeof OPERATION_STATUSES)[number];

const IS_ENDED: Readonly<Record<OperationStatus, boolean>> = {
  NotStarted: false,
  Running: false,
  Succeeded: true,
  Failed: true,
  Canceled: true,
};

export function isEnded(status: OperationStatus): boolean {
  return IS_ENDED[status];
}

const moment = z.iso.datetime().describe("UTC, ISO 8601 with milliseconds.");

/** An operation as its caller sees it. */
export const operationSchema = z
  .strictObject({
    id: z.string().regex(/^[A-Za-z0-9_-]{1,64}$/),
    operation: submittedOperationSchema,
    status: z.enum(OPERATION_STATUSES),
    created_at: moment,
    started_at: moment.nullable().describe("When an attempt first ran."),
    finished_at: moment.nullable(),
    progress: progressSchema.nullable(),
    warnings: z
      .array(warningSchema)
      .describe("The first of them, at most 200, or as many as have room; the output lists all."),
    warning_counts: codeCountsSchema
      .optional()
      .describe("Of all warnings, how many have each code; absent where there is none."),
    failures: z
      .array(failureSchema)
      .optional()
      .describe(
        "Tickers that the job went on without, as many as of the warnings; absent where there is none.",
      ),
    failure_counts: codeCountsSchema
      .optional()
      .describe("Of all such tickers, how many have each code; absent where there is none."),
    result: resultRecordSchema.nullable().describe("Of an operation that succeeded."),
    error: problemSchema.nullable().describe("Of one that failed or was cancelled."),
  })
  .meta({ id: "Operation", title: "Operation", description: "At most 224 KiB of JSON." });

export type OperationView = z.infer<typeof operationSchema>;

/** One page of operations, newest first: as many as the caller asked for, or fewer where the page would be too large. */
export const operationPageSchema = z
  .strictObject({
    operations: z.array(operationSchema),
    next_cursor: z.string().nullable().describe("Give it as `cursor` for the next page; null on the last."),
  })
  .meta({
    id: "OperationPage",
    description:
      "At most 1 MiB of JSON: large operations end a page early, and long texts are cut: the operation itself has more of them.",
  });

export type OperationPage = z.infer<typeof operationPageSchema>;
