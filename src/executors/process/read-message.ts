import { z } from "zod";
import { epochsSchema, STAGES } from "../../contract/api/job-events.ts";
import { openSchema } from "../../contract/api/open-schema.ts";
import { codeCountsSchema } from "../../contract/api/operation-view.ts";
import { warningSchema } from "../../contract/errors/warnings.ts";
import { failureSchema } from "../../contract/output/output-blob.ts";
import { statusBlobSchema, timingSchema } from "../../contract/output/status-blob.ts";
import type { FromJob } from "./messages.ts";

const count = z.number().nonnegative();
const executionEvent = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("progress"), stage: z.enum(STAGES), done: count, total: count.optional() }),
  z.object({ kind: z.literal("warning"), warning: openSchema(warningSchema) }),
  z.object({ kind: z.literal("failure"), failure: openSchema(failureSchema) }),
  z.object({ kind: z.literal("epochs"), epochs: openSchema(epochsSchema) }),
  z.object({ kind: z.literal("counts"), warnings: codeCountsSchema, failures: codeCountsSchema }),
]);

const MESSAGE = z.discriminatedUnion("event", [
  z.object({ event: z.literal("ready") }),
  z.object({ event: z.literal("accepted") }),
  z.object({ event: z.literal("job"), job: executionEvent }),
  z.object({ event: z.literal("log"), line: z.string() }),
  z.object({ event: z.literal("timings"), timings: z.array(openSchema(timingSchema)) }),
  z.object({ event: z.literal("end"), end: openSchema(statusBlobSchema.shape.end.unwrap()) }),
]);

/**
 * A line that a job process told. What a library prints into that descriptor may stand in it, or before it.
 * @returns undefined for what is no message, or lacks what its event tells.
 */
export function readMessage(line: string): FromJob | undefined {
  try {
    const message: unknown = JSON.parse(line);
    return MESSAGE.safeParse(message).success ? (message as FromJob) : undefined;
  } catch {
    return undefined;
  }
}
