import { z } from "zod";
import { outputBlobSchema } from "../../../contract/output/output-blob.ts";
import { EXAMPLE_BLOBS } from "../openapi/examples.ts";
import { emptyAnswer, jsonAnswer, problemAnswers } from "../openapi/route-docs.ts";

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

export const blobParams = z.strictObject({
  name: z
    .string()
    .describe("`feature_engine_<id>.json`, `data_extractor_<id>.json`; for reading also an output."),
});

const ETAG = { type: "string", description: "Strong: it stands for these exact bytes." } as const;

const UPLOADED: UploadedBlob = {
  name: "feature_engine_tiny.json",
  url: `${EXAMPLE_BLOBS}/data/feature_engine_tiny.json`,
  size: 48213,
  etag: '"6b86b273"',
};

function header(description: string) {
  return z.string().optional().describe(description);
}

/** Open: the job that reads a blob checks its content; the upload does not. */
export const inputBlobSchema = z.looseObject({}).meta({
  id: "InputBlob",
  description:
    "Prices or features, in one of the layouts that docs/blobs.md shows; one more is a list of records.",
});
const records = z.array(z.looseObject({}));

const BYTES = { type: "string", format: "binary" } as const;

export const readBlobDocs = {
  operationId: "read_blob",
  summary: "An input or output blob",
  description:
    "The blob's bytes; an output holds `mu`. One range can be asked for, so that a broken download goes on. Blobs of " +
    "another caller are not found.",
  tags: ["Blobs"],
  params: blobParams,
  headers: z.looseObject({
    range: header("One range of bytes; several are answered with the whole blob."),
    "if-range": header("The range only of this version, else the whole blob."),
    "if-match": header("This version, or 412."),
    "if-none-match": header("Another version than this, or 304."),
  }),
  response: {
    200: {
      description: "The whole blob.",
      headers: { ETag: ETAG, "Accept-Ranges": { type: "string", description: "`bytes`." } },
      content: { "application/json": { schema: { anyOf: [outputBlobSchema, inputBlobSchema, records] } } },
    },
    206: {
      description: "The range.",
      headers: { ETag: ETAG, "Content-Range": { type: "string", description: "Which bytes of how many." } },
      content: { "application/json": { schema: { description: "These bytes of the blob." } } },
    },
    304: emptyAnswer("It is still the version of `If-None-Match`.", { ETag: ETAG }),
    ...problemAnswers("read", [
      "not_found",
      "precondition_failed",
      "range_not_satisfiable",
      "blob_unavailable",
    ]),
  },
} as const;

export const writeBlobDocs = {
  operationId: "write_blob",
  summary: "Upload an input blob",
  description:
    "Stores the body whole or not at all, whatever its Content-Type, streamed and up to the limit `upload_bytes`. " +
    "It belongs to its caller: another caller's blob of that name is another blob.",
  tags: ["Blobs"],
  params: blobParams,
  headers: z.looseObject({
    "if-match": header("Replaces this version only; `*` any, but does not make a new one."),
    "if-none-match": header("`*`: makes a new one only."),
  }),
  // The service stores the bytes without parsing them, so a JSON schema here would promise a check that is not made.
  body: { content: { "application/octet-stream": { schema: BYTES } } },
  response: {
    201: jsonAnswer("It is new.", uploadedBlobSchema, UPLOADED, { ETag: ETAG }),
    200: jsonAnswer("It has replaced an older one.", uploadedBlobSchema, UPLOADED, { ETag: ETAG }),
    ...problemAnswers("write", [
      "not_found",
      "method_not_allowed",
      "precondition_failed",
      "too_large",
      "quota_exceeded",
      "storage_full",
      "storage_failed",
      "blob_unavailable",
    ]),
  },
} as const;

export const removeBlobDocs = {
  operationId: "delete_blob",
  summary: "Remove an input or output blob",
  description:
    "Gives back what the blob took of its caller's quota. A blob that a waiting or running operation names stays.",
  tags: ["Blobs"],
  params: blobParams,
  headers: z.looseObject({ "if-match": header("Removes this version only.") }),
  response: {
    204: emptyAnswer("It is gone."),
    ...problemAnswers("write", [
      "not_found",
      "precondition_failed",
      "blob_in_use",
      "storage_failed",
      "blob_unavailable",
    ]),
  },
} as const;
