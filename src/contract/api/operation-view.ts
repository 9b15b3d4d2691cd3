import { z } from "zod";
import { VERDICT_OPERATIONS } from "../config/job-operations.ts";
import { MAX_COMPARED_OUTPUTS } from "../config/limits.ts";
import { distinctEntries } from "../config/payload-schemas.ts";
import { auditBlobSchema } from "../output/audit-blob.ts";
import { progressSchema, runSummarySchema } from "../output/job-events.ts";
import { replayBlobSchema } from "../output/replay-blob.ts";
import { resultRecordSchema, submittedOperationSchema } from "../output/result-record.ts";
import { codeCountsSchema, failureSchema, problemSchema } from "../problems/problem.ts";
import { warningSchema } from "../problems/warnings.ts";
import * as s from "../schema/open-schema.ts";

export const verdictViewSchema = s.named("VerdictView", {
  id: s.text(),
  operation: s.mayGrow(z.enum(VERDICT_OPERATIONS)),
  output_name: s.text("Name of the blob with the verdict."),
  audit: auditBlobSchema.optional().describe("The verdict of an audit."),
  replay: replayBlobSchema.optional().describe("The verdict of a replay."),
});

export type VerdictView = z.infer<typeof verdictViewSchema>;

export const reportLinkSchema = s.titled("ReportLink", "Link to a report", {
  url: s.text("Opens the report once, without credentials. Anyone who has it can read the report."),
  expires_at: z.iso.datetime().describe("One minute after the link was created."),
});

export type ReportLink = z.infer<typeof reportLinkSchema>;

export const comparedOperationsSchema = z.strictObject({
  id: z
    .array(s.operationId())
    .min(1)
    .max(MAX_COMPARED_OUTPUTS)
    .check(distinctEntries)
    .describe("Operations to compare, in the order of the columns; repeat the parameter for each."),
});

/** The states of an operation: NotStarted, Running, then one of the last three, which is final. */
export const OPERATION_STATUSES = ["NotStarted", "Running", "Succeeded", "Failed", "Canceled"] as const;
export type OperationStatus = (typeof OPERATION_STATUSES)[number];

export function isEnded(status: OperationStatus): boolean {
  return status !== "NotStarted" && status !== "Running";
}

const moment = z.iso.datetime().describe("UTC, ISO 8601 with milliseconds.");

export const operationSchema = z
  .strictObject({
    id: s.operationId(),
    operation: submittedOperationSchema,
    status: z.enum(OPERATION_STATUSES),
    model: s.optionalText("Name of the model or the network of the config; absent for a replay."),
    tags: s.optionalList(s.text(), "The tags of the payload, in its order; absent if it has none."),
    inputs: s.optional(
      s.named("InputNames", {
        feature: s.optionalText("Absent if a replay takes it from its output."),
        data_extractor: s.optionalText("Likewise."),
      }),
      "Names of the input blobs, without their location; absent if the payload names none.",
    ),
    created_at: moment,
    started_at: moment.nullable().describe("Start of the first attempt."),
    finished_at: moment.nullable(),
    progress: progressSchema.nullable(),
    warnings: s.list(
      warningSchema,
      "The first warnings: at most 200, or as many as fit. The output lists all.",
    ),
    warning_counts: s.optional(codeCountsSchema, "Number of warnings by code; absent if there are none."),
    failures: s.optionalList(
      failureSchema,
      "Tickers that the job went on without, with the same limit as for the warnings; absent if there are none.",
    ),
    failure_counts: s.optional(codeCountsSchema, "Number of such tickers by code; absent if there are none."),
    summary: s.optional(
      runSummarySchema,
      "What the forecasts are worth; absent before the job writes its output, and for an audit or a replay.",
    ),
    result: resultRecordSchema.nullable().describe("The result of an operation that succeeded."),
    error: problemSchema.nullable().describe("The problem of an operation that failed or was cancelled."),
  })
  .meta({ id: "Operation", title: "Operation", description: "At most 224 KiB of JSON." });

export type OperationView = z.infer<typeof operationSchema>;

/** One page of operations, newest first: as many as the caller requested, or fewer if the page would be too large. */
export const operationPageSchema = s.named(
  "OperationPage",
  "At most 1 MiB of JSON. Large operations can make a page shorter, and long texts are cut; the operation itself has more of them.",
  {
    operations: z.array(operationSchema),
    next_cursor: s.textOrNull("Use it as `cursor` to get the next page; null on the last page."),
  },
);

export type OperationPage = z.infer<typeof operationPageSchema>;
