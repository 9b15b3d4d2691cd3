import { z } from "zod";
import { dlConfigSchema } from "../../../contract/config/dl-config.ts";
import type { SubmittedOperation } from "../../../contract/config/job-operations.ts";
import { mlConfigSchema } from "../../../contract/config/ml-config.ts";
import {
  auditPayloadSchema,
  payloadSchema,
  replayPayloadSchema,
} from "../../../contract/config/payload-schemas.ts";

/** The payload schema of each operation, with the schema of its config. */
export const JOB_PAYLOADS = {
  run_ml_job: payloadSchema
    .extend({ config: mlConfigSchema })
    .meta({ id: "MlPayload", title: "Payload of run_ml_job" }),
  run_dl_job: payloadSchema
    .extend({ config: dlConfigSchema })
    .meta({ id: "DlPayload", title: "Payload of run_dl_job" }),
  audit: auditPayloadSchema,
  replay: replayPayloadSchema,
} as const satisfies Record<SubmittedOperation, unknown>;

/** Open: the job that reads a blob checks its content; the upload does not. */
export const inputBlobSchema = z.looseObject({}).meta({
  id: "InputBlob",
  description:
    "Prices or features, in one of the layouts of docs/blobs.md; another layout is a list of records.",
});

/** The answer to an upload. */
export const uploadedBlobSchema = z
  .strictObject({
    name: z.string(),
    url: z.string().describe("To submit as `feature_url` or `data_extractor_url`."),
    size: z.int().nonnegative().describe("Bytes."),
    etag: z.string().describe("As in the ETag header."),
  })
  .meta({ id: "UploadedBlob", title: "Uploaded blob" });

export type UploadedBlob = z.infer<typeof uploadedBlobSchema>;
