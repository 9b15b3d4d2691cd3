import { z } from "zod";
import { failureSchema, problemSchema } from "../problems/problem.ts";
import { warningSchema } from "../problems/warnings.ts";
import { codeCountsSchema, epochsSchema, progressSchema } from "./job-events.ts";
import { resultRecordSchema } from "./result-record.ts";
import { runSummarySchema } from "./run-summary.ts";

/** The start and end of a step of a job, for traces. */
export const timingSchema = z.strictObject({
  name: z.string(),
  /** Milliseconds since 1970. */
  start: z.number(),
  end: z.number(),
});

export type Timing = z.infer<typeof timingSchema>;

/**
 * `status/<id>.<attempt>.json`: the state of one attempt at a job, written by the job itself. The job rewrites all of it at most every few
 * seconds, and one last time when it ends.
 */
export const statusBlobSchema = z
  .strictObject({
    schema: z.literal("mucast.status/1"),
    id: z.string(),
    attempt: z.int().positive(),
    config_sha256: z.string(),
    updated_at: z.iso.datetime(),
    progress: progressSchema.nullable(),
    /** The first warnings; `failures` likewise. The counts include all, by code. */
    warnings: z.array(warningSchema),
    warning_counts: codeCountsSchema.optional(),
    failures: z.array(failureSchema).optional(),
    failure_counts: codeCountsSchema.optional(),
    /** Counts of the attempt so far. */
    epochs: epochsSchema.optional(),
    summary: runSummarySchema.optional(),
    timings: z.array(timingSchema),
    /** Null while the attempt is running. */
    end: z
      .union([z.strictObject({ record: resultRecordSchema }), z.strictObject({ problem: problemSchema })])
      .nullable(),
  })
  .meta({ id: "StatusBlob" });

export type StatusBlob = z.infer<typeof statusBlobSchema>;

/** @returns the key of an attempt's status blob beside `data/`. */
export function statusKey(id: string, attempt: number): string {
  return `status/${id}.${attempt}.json`;
}
