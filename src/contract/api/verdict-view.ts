import { z } from "zod";
import { VERDICT_OPERATIONS } from "../config/job-operations.ts";
import { auditBlobSchema } from "../output/audit-blob.ts";
import { replayBlobSchema } from "../output/replay-blob.ts";
import { mayGrow } from "../schema/open-schema.ts";

/** The verdict of an audit or a replay that succeeded: its blob, as it is stored. */
export const verdictViewSchema = z
  .strictObject({
    id: z.string(),
    operation: mayGrow(z.enum(VERDICT_OPERATIONS)),
    output_name: z.string().describe("Name of the blob with the verdict."),
    audit: auditBlobSchema.optional().describe("The verdict of an audit."),
    replay: replayBlobSchema.optional().describe("The verdict of a replay."),
  })
  .meta({ id: "VerdictView" });

export type VerdictView = z.infer<typeof verdictViewSchema>;
