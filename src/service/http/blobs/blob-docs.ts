import { z } from "zod";
import {
  type BlobPage,
  blobListQuery,
  blobPageSchema,
  type StoredBlobView,
} from "../../../contract/api/prepared-blobs.ts";
import { outputBlobSchema } from "../../../contract/output/output-blob.ts";
import { inputBlobSchema, type UploadedBlob, uploadedBlobSchema } from "../openapi/component-schemas.ts";
import { EXAMPLE_BLOBS } from "../openapi/examples.ts";
import { emptyAnswer, jsonAnswer } from "../openapi/route-docs.ts";

export const blobParams = z.strictObject({
  name: z
    .string()
    .describe(
      "`feature_engine_<id>.json` or `data_extractor_<id>.json`, or with `.parquet`; for reading, also an output.",
    ),
});

const ETAG = { type: "string", description: "Strong: identifies these exact bytes." } as const;

const UPLOADED: UploadedBlob = {
  name: "feature_engine_sp500.parquet",
  url: `${EXAMPLE_BLOBS}/data/feature_engine_sp500.parquet`,
  size: 48213,
  etag: '"6b86b273"',
};

function header(description: string) {
  return z.string().optional().describe(description);
}

/** A client that is generated from the whole schema would have 70 more models. */
const outputMuSchema = outputBlobSchema.pick({ mu: true }).meta({
  id: "OutputBlob",
  title: "Output blob",
  description: "The output of a job. schemas/output-blob.json of the package describes the rest of it.",
});

const records = z.array(z.unknown());

const BYTES = { type: "string", format: "binary" } as const;

export const readDocs = {
  operationId: "read_blob",
  summary: "Read an input or output blob",
  description:
    "Returns the bytes of the blob; an output holds `mu`. You can request one range, for example to resume a download. Blobs of " +
    "other callers are not found.",
  tags: ["Blobs"],
  params: blobParams,
  headers: z.looseObject({
    range: header("One range of bytes; for several ranges, the response is the whole blob."),
    "if-range": header("Returns the range only of this version, otherwise the whole blob."),
    "if-match": header("Returns this version, or 412."),
    "if-none-match": header("Returns a version other than this one, or 304."),
  }),
  response: {
    200: {
      description: "The whole blob.",
      headers: { ETag: ETAG, "Accept-Ranges": { type: "string", description: "`bytes`." } },
      content: {
        "application/json": { schema: { anyOf: [outputMuSchema, inputBlobSchema, records] } },
        "application/vnd.apache.parquet": { schema: BYTES },
      },
    },
    206: {
      description: "The range.",
      headers: {
        ETag: ETAG,
        "Content-Range": { type: "string", description: "The range and the total size." },
      },
      content: { "application/json": { schema: { description: "These bytes of the blob." } } },
    },
    304: emptyAnswer("The blob still has the version of `If-None-Match`.", { ETag: ETAG }),
  },
} as const;

export const writeDocs = {
  operationId: "write_blob",
  summary: "Upload an input blob",
  description:
    "Stores the whole body or nothing, with any Content-Type, streamed, up to the limit `upload_bytes`. " +
    "The blob belongs to the caller: another caller's blob of the same name is a different blob.",
  tags: ["Blobs"],
  params: blobParams,
  headers: z.looseObject({
    "if-match": header("Replaces only this version; `*` replaces any version but does not create a blob."),
    "if-none-match": header("`*`: only creates a new blob."),
  }),
  // The service stores the bytes without parsing them, so a JSON schema here would promise a check that is not made.
  body: { content: { "application/octet-stream": { schema: BYTES } } },
  response: {
    201: jsonAnswer("A new blob was created.", uploadedBlobSchema, UPLOADED, { ETag: ETAG }),
    200: jsonAnswer("An existing blob was replaced.", uploadedBlobSchema, UPLOADED, { ETag: ETAG }),
  },
} as const;

export const removeDocs = {
  operationId: "delete_blob",
  summary: "Delete an input or output blob",
  description: "Frees the caller's quota. A blob that a queued or running operation uses is not deleted.",
  tags: ["Blobs"],
  params: blobParams,
  headers: z.looseObject({ "if-match": header("Deletes only this version.") }),
  response: {
    204: emptyAnswer("The blob was deleted."),
  },
} as const;

const CONTENTS = { ticker_count: 500, dates: 1510, start: "2020-01-02", end: "2026-01-05" };

/** The example of a list: the blobs of a preparation, and an output. */
const PAGE: BlobPage = {
  blobs: [
    example("ml_engine_5f0c2d1e", "output", 812_345),
    { ...example("feature_engine_4f0c1a2b", "features", 96_104_233), ...CONTENTS },
    { ...example("data_extractor_4f0c1a2b", "prices", 14_903_118), ...CONTENTS },
  ],
  next_cursor: null,
};

function example(stem: string, kind: StoredBlobView["kind"], size: number): StoredBlobView {
  const name = `${stem}.json`;
  return { name, url: `${EXAMPLE_BLOBS}/data/${name}`, kind, size, created_at: "2026-01-05T08:30:09.038Z" };
}

export const listDocs = {
  operationId: "list_blobs",
  summary: "List blobs, newest first",
  description:
    "Returns the caller's own blobs, one page at a time, optionally of one kind: inputs that were uploaded or prepared, and the " +
    "outputs of operations that succeeded.",
  tags: ["Blobs"],
  querystring: blobListQuery,
  response: { 200: jsonAnswer("A page of blobs.", blobPageSchema, PAGE) },
} as const;
