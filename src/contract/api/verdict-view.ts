import { z } from "zod";
import { VERDICT_OPERATIONS } from "../config/job-operations.ts";
import { auditBlobSchema } from "../output/audit-blob.ts";
import { replayBlobSchema } from "../output/replay-blob.ts";
import { mayGrow } from "../schema/open-schema.ts";

/** The verdict of an audit or a replay that has succeeded: its blob, as it is stored. */
export const verdictViewSchema = z
  .strictObject({
    id: z.string(),
    operation: mayGrow(z.enum(VERDICT_OPERATIONS)),
    output_name: z.string().describe("The blob that it is read from."),
    audit: auditBlobSchema.optional().describe("Of an audit."),
    replay: replayBlobSchema.optional().describe("Of a replay."),
  })
  .meta({ id: "VerdictView" });

export type VerdictView = z.infer<typeof verdictViewSchema>;
