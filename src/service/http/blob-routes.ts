import { once } from "node:events";
import { Readable } from "node:stream";
import type { FastifyRequest } from "fastify";
import { z } from "zod";
import { isInputName, mediaType, outputIdIn } from "../../blob/names.ts";
import {
  type BlobPage,
  blobListQuery,
  blobPageSchema,
  PREPARE_PARTS,
  type PreparedBlobs,
  preparedBlobsSchema,
  prepareQuery,
} from "../../contract/api/prepared-blobs.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import { show } from "../../contract/errors/faults.ts";
import { outputBlobSchema } from "../../contract/output/output-blob.ts";
import type { BlobUpload } from "../blobs/blobs.ts";
import { storageFailed } from "../blobs/storage.ts";
import { tooLarge } from "../preparation/preparations.ts";
import { byteRange, checkIfMatch, matchesNone } from "./conditional-requests.ts";
import { emptyAnswer, header, jsonAnswer } from "./document.ts";
import { EXAMPLE_BLOBS } from "./examples.ts";
import { limitAnswers } from "./guard.ts";
import { acceptBodies, type HttpApp, type HttpOptions } from "./http-app.ts";

const NAMES =
  "`feature_engine_<id>.json` or `data_extractor_<id>.json`, or with `.parquet`; for reading, also an output.";
const params = z.strictObject({ name: z.string().describe(NAMES) });

const sent = (description: string) => z.string().optional().describe(description);
const ETAG = header("Strong: identifies these exact bytes.");

/** Open: the job that reads a blob checks its content; the upload does not. */
const inputBlobSchema = z.looseObject({}).meta({
  id: "InputBlob",
  description:
    "Prices or features, in one of the layouts of docs/blobs.md; another layout is a list of records.",
});

/** A client that is generated from the whole schema would have 70 more models. */
const outputMuSchema = outputBlobSchema.pick({ mu: true }).meta({
  id: "OutputBlob",
  title: "Output blob",
  description: "The output of a job. schemas/output-blob.json of the package describes the rest of it.",
});

const BYTES = { type: "string", format: "binary" } as const;

export const uploadedBlobSchema = z
  .strictObject({
    name: z.string(),
    url: z.string().describe("To submit as `feature_url` or `data_extractor_url`."),
    size: z.int().nonnegative().describe("Bytes."),
    etag: z.string().describe("As in the ETag header."),
  })
  .meta({ id: "UploadedBlob", title: "Uploaded blob" });

type UploadedBlob = z.infer<typeof uploadedBlobSchema>;

const UPLOADED: UploadedBlob = {
  name: "feature_engine_sp500.parquet",
  url: `${EXAMPLE_BLOBS}/data/feature_engine_sp500.parquet`,
  size: 48213,
  etag: '"6b86b273"',
};

const READ_PROBLEMS = [
  ...(["not_found", "precondition_failed", "range_not_satisfiable", "blob_unavailable"] as const),
];
const WRITE_PROBLEMS = [
  ...(["not_found", "method_not_allowed", "precondition_failed", "too_large", "quota_exceeded"] as const),
  ...(["storage_full", "storage_failed", "blob_unavailable"] as const),
];
const REMOVE_PROBLEMS = [
  ...(["not_found", "precondition_failed", "blob_in_use", "storage_failed", "blob_unavailable"] as const),
];
const PREPARE_PROBLEMS = [
  ...(["unreadable_blob", "invalid_data", "too_large", "precondition_failed", "quota_exceeded"] as const),
  ...(["storage_full", "storage_failed", "blob_unavailable", "timed_out", "process_lost"] as const),
];

const FORM = {
  type: "object",
  properties: Object.fromEntries(PREPARE_PARTS.map((part) => [part, BYTES])),
  required: ["prices"],
};

const PREPARED: PreparedBlobs = {
  id: "4f0c1a2b4f0c1a2b",
  feature_url: `${EXAMPLE_BLOBS}/data/feature_engine_4f0c1a2b4f0c1a2b.json`,
  data_extractor_url: `${EXAMPLE_BLOBS}/data/data_extractor_4f0c1a2b4f0c1a2b.json`,
  tickers: ["AAPL", "MSFT"],
  ticker_count: 2,
  dates: 1510,
  start: "2020-01-02",
  end: "2026-01-05",
  learning_end: "2024-12-31",
  features: ["mom_1", "mom_2", "vol_10", "weekday"],
  warnings: ["MSFT: 1 price is zero or negative; its date gets no features"],
  warning_count: 1,
  written: true,
};

const CONTENTS = { ticker_count: 500, dates: 1510, start: "2020-01-02", end: "2026-01-05" };
const PAGE: BlobPage = {
  blobs: [
    { name: "ml_engine_5f0c2d1e.json", kind: "output", size: 812_345 } as const,
    { name: "feature_engine_4f0c1a2b.json", kind: "features", size: 96_104_233, ...CONTENTS } as const,
    { name: "data_extractor_4f0c1a2b.json", kind: "prices", size: 14_903_118, ...CONTENTS } as const,
  ].map(({ name, kind, size, ...contents }) => ({
    ...{ name, url: `${EXAMPLE_BLOBS}/data/${name}`, kind, size },
    ...{ created_at: "2026-01-05T08:30:09.038Z", ...contents },
  })),
  next_cursor: null,
};

export function blobRoutes(app: HttpApp, { settings, blobs, preparations }: HttpOptions): void {
  const beginDownload = limitAnswers("downloads", settings.downloads_per_caller, settings.downloads);
  // Each has a folder for its files, which may be some hundred megabytes.
  const beginPreparation = limitAnswers("preparations", 2, 8);
  acceptBodies(app, "leave");

  async function lookUp({ caller }: FastifyRequest, name: string) {
    checkReadable(name);
    const address = await blobs.find(caller!, name);
    const blob = await address?.store.stat(address.key);
    if (address === undefined || blob === undefined) throw noBlob(name);
    return { ...address, ...blob };
  }

  app.route({
    method: ["GET", "HEAD"],
    url: "/data/:name",
    config: { access: "read", problems: READ_PROBLEMS },
    schema: {
      operationId: "read_blob",
      summary: "Read an input or output blob",
      description:
        "Returns the bytes of the blob; an output holds `mu`. You can request one range, for example to resume a download. Blobs of " +
        "other callers are not found.",
      tags: ["Blobs"],
      params,
      headers: z.looseObject({
        range: sent("One range of bytes; for several ranges, the response is the whole blob."),
        "if-range": sent("Returns the range only of this version, otherwise the whole blob."),
        "if-match": sent("Returns this version, or 412."),
        "if-none-match": sent("Returns a version other than this one, or 304."),
      }),
      response: {
        200: {
          description: "The whole blob.",
          headers: { ETag: ETAG, "Accept-Ranges": header("`bytes`.") },
          content: {
            "application/json": {
              schema: { anyOf: [outputMuSchema, inputBlobSchema, z.array(z.unknown())] },
            },
            "application/vnd.apache.parquet": { schema: BYTES },
          },
        },
        206: {
          description: "The range.",
          headers: { ETag: ETAG, "Content-Range": header("The range and the total size.") },
          content: { "application/json": { schema: { description: "These bytes of the blob." } } },
        },
        304: emptyAnswer("The blob still has the version of `If-None-Match`.", { ETag: ETAG }),
      },
    },
    handler: async (request, reply) => {
      const { headers, method, params } = request;
      const { name } = params;
      const { store, key, size, etag } = await lookUp(request, name);
      checkIfMatch(headers, etag);
      reply.headers({ etag, "accept-ranges": "bytes", "cache-control": "private, no-cache" });
      if (!matchesNone(headers, etag)) return reply.code(304).send();
      const range = method === "HEAD" ? undefined : byteRange(headers, { size, etag });
      const { start, end } = range ?? { start: 0, end: size };
      if (range !== undefined) reply.code(206).header("content-range", `bytes ${start}-${end - 1}/${size}`);
      reply.type(mediaType(name)).header("content-length", end - start);
      if (method === "HEAD" || size === 0) return reply.send();
      beginDownload(request.caller!.subject, reply.raw);
      const pieces = store.read(key, { start, end, etag, signal: reply.abortSignal() });
      const stream = Readable.from(pieces, { objectMode: false });
      // A failure before the first piece rejects, so that the caller gets a problem.
      await once(stream, "readable");
      return reply.send(stream);
    },
  });
  app.route({
    method: "PUT",
    url: "/data/:name",
    config: { access: "write", isStreamed: true, problems: WRITE_PROBLEMS },
    schema: {
      operationId: "write_blob",
      summary: "Upload an input blob",
      description:
        "Stores the whole body or nothing, with any Content-Type, streamed, up to the limit `upload_bytes`. " +
        "The blob belongs to the caller: another caller's blob of the same name is a different blob.",
      tags: ["Blobs"],
      params,
      headers: z.looseObject({
        "if-match": sent("Replaces only this version; `*` replaces any version but does not create a blob."),
        "if-none-match": sent("`*`: only creates a new blob."),
      }),
      // The service stores the bytes without parsing them, so a JSON schema here would promise a check that is not made.
      body: { content: { "application/octet-stream": { schema: BYTES } } },
      response: {
        201: jsonAnswer("A new blob was created.", uploadedBlobSchema, UPLOADED, { ETag: ETAG }),
        200: jsonAnswer("An existing blob was replaced.", uploadedBlobSchema, UPLOADED, { ETag: ETAG }),
      },
    },
    handler: async (request, reply): Promise<UploadedBlob> => {
      // Every possible check, before the first byte is read.
      const { headers } = request;
      const { name } = request.params;
      checkWritable(name);
      const length = headers["content-length"] === undefined ? undefined : Number(headers["content-length"]);
      checkWhole(headers["content-range"]);
      if (length !== undefined && length > settings.upload_bytes) {
        const message = `the blob has ${length} bytes; at most ${settings.upload_bytes} are accepted (upload_bytes)`;
        throw new MucastError("too_large", message, { path: "Content-Length", value: length });
      }
      const address = await blobs.uploadAddress(request.caller!, name);
      if (address === undefined) throw noBlob(name);
      checkConditions(request, (await address.store.stat(address.key))?.etag);
      const upload = await blobs.beginUpload(request.caller!, name, length);
      if (upload === undefined) throw noBlob(name);
      if (headers.expect !== undefined) reply.raw.writeContinue();
      try {
        const { created, etag, size } = await storeBody(request, name, upload, settings.upload_bytes);
        await upload.finish(size);
        reply.code(created ? 201 : 200).header("etag", etag);
        return { name, url: blobUrl(request, upload.store, name), size, etag };
      } finally {
        await upload.close();
      }
    },
  });
  app.route({
    method: "DELETE",
    url: "/data/:name",
    config: { access: "write", problems: REMOVE_PROBLEMS },
    schema: {
      operationId: "delete_blob",
      summary: "Delete an input or output blob",
      description: "Frees the caller's quota. A blob that a queued or running operation uses is not deleted.",
      tags: ["Blobs"],
      params,
      headers: z.looseObject({ "if-match": sent("Deletes only this version.") }),
      response: { 204: emptyAnswer("The blob was deleted.") },
    },
    handler: async (request, reply) => {
      const { name } = request.params;
      checkReadable(name);
      if (request.headers["if-match"] !== undefined)
        checkIfMatch(request.headers, (await lookUp(request, name)).etag);
      if (!(await blobs.remove(request.caller!, name))) throw noBlob(name);
      return reply.code(204).send();
    },
  });
  app.route({
    method: "GET",
    url: "/v1/data",
    config: { access: "read" },
    schema: {
      operationId: "list_blobs",
      summary: "List blobs, newest first",
      description:
        "Returns the caller's own blobs, one page at a time, optionally of one kind: inputs that were uploaded or prepared, and the " +
        "outputs of operations that succeeded.",
      tags: ["Blobs"],
      querystring: blobListQuery,
      response: { 200: jsonAnswer("A page of blobs.", blobPageSchema, PAGE) },
    },
    handler: async (request): Promise<BlobPage> => {
      const { blobs: page, cursor } = await blobs.list(request.caller!, request.query);
      const views = page.map(({ name, kind, bytes, createdAt, contents, store }) => ({
        ...{ name, url: blobUrl(request, store, name), kind, size: bytes },
        ...{ created_at: createdAt.toISOString(), ...contents },
      }));
      return { blobs: views, next_cursor: cursor ?? null };
    },
  });
  app.route({
    method: "POST",
    url: "/v1/prepare",
    config: { access: "write", isStreamed: true, problems: PREPARE_PROBLEMS },
    schema: {
      operationId: "prepare",
      summary: "Turn prices into both input blobs",
      description:
        "Takes prices like `mucast prepare`, as CSV (optionally gzipped) or Parquet, and stores two blobs for the caller: prices, and " +
        "features that are known at the close of their date. The body is the file of prices, or multipart/form-data with a file " +
        "`prices` and a table of further `features`. The same files and query give the same blobs. The response comes when both blobs " +
        "are stored, which takes seconds for a large file. Repeat `tickers` for each ticker.",
      tags: ["Blobs"],
      querystring: prepareQuery,
      // The service reads the bytes whatever their Content-Type; generators of clients do not know text/csv.
      body: {
        content: { "application/octet-stream": { schema: BYTES }, "multipart/form-data": { schema: FORM } },
      },
      response: { 200: jsonAnswer("Both blobs are stored.", preparedBlobsSchema, PREPARED) },
    },
    handler: async (request, reply): Promise<PreparedBlobs> => {
      const { caller, headers, raw, query } = request;
      beginPreparation(caller!.subject, reply.raw);
      const limit = settings.prepare_bytes;
      if (Number(headers["content-length"] ?? 0) > limit) throw tooLarge(limit);
      checkWhole(headers["content-range"]);
      if (headers.expect !== undefined) reply.raw.writeContinue();
      const [type] = raw.headersDistinct["content-type"] ?? [];
      const multipartType = /^multipart\/form-data(?:;|$)/i.test(type ?? "") ? type : undefined;
      const body = { bytes: raw, multipartType };
      const prepared = await preparations.prepare(caller!, body, query, reply.abortSignal());
      const { answer, files, written, storeUrl: url } = prepared;
      return {
        ...answer,
        feature_url: blobUrl(request, { url }, files.features.name),
        data_extractor_url: blobUrl(request, { url }, files.prices.name),
        written,
      };
    },
  });
}

/** A folder has no URL: its blobs are at the origin of this service. */
function blobUrl({ publicOrigin }: FastifyRequest, store: { readonly url: string }, name: string): string {
  return `${store.url || publicOrigin}/data/${name}`;
}

/** A body with Content-Range would replace the whole blob with a part (RFC 9110, section 14.5). */
function checkWhole(range: string | undefined): void {
  if (range === undefined) return;
  const message = "a body is sent whole; leave Content-Range out and send all of it";
  throw new MucastError("invalid_request", message, { path: "Content-Range", value: range.slice(0, 100) });
}

function checkConditions({ headers }: FastifyRequest, etag: string | undefined): void {
  checkIfMatch(headers, etag);
  if (!matchesNone(headers, etag)) throw alreadyExists();
}

async function storeBody(request: FastifyRequest, name: string, upload: BlobUpload, limit: number) {
  const { store, key } = upload;
  const ifNone = request.headers["if-none-match"]?.trim();
  let [size, isWhole] = [0, false];
  async function* pieces(): AsyncGenerator<Uint8Array> {
    // If the store stops early, the connection must stay open for the problem.
    for await (const piece of request.raw.iterator({ destroyOnReturn: false })) {
      size += piece.length;
      upload.checkRoom(size);
      yield piece;
    }
    // The last moment at which nothing has changed.
    checkConditions(request, (await store.stat(key))?.etag);
    isWhole = true;
  }
  try {
    if (ifNone !== "*") return { ...(await store.put(key, pieces(), { limit })), size };
    return { ...(await store.create(key, pieces(), { limit })), created: true, size };
  } catch (error) {
    // Another upload may have created the blob since the check.
    if (isWhole && ifNone !== undefined && (await store.stat(key)) !== undefined) throw alreadyExists();
    throw storageFailed(error, `${name} could not be stored`);
  }
}

function alreadyExists(): MucastError {
  return new MucastError("precondition_failed", "there is such a blob already", { path: "If-None-Match" });
}

function checkReadable(name: string): void {
  if (!isInputName(name) && outputIdIn(name) === undefined) throw noBlob(name);
}

function checkWritable(name: string): void {
  if (isInputName(name)) return;
  if (outputIdIn(name) !== undefined) {
    const allow = ["DELETE", "GET", "HEAD"];
    throw new MucastError("method_not_allowed", `${name} is an output, which jobs alone write`, { allow });
  }
  const message =
    `the name ${show(name)} is neither feature_engine_<id>.json nor data_extractor_<id>.json (or .parquet) with an id ` +
    'of 1 to 64 letters, digits, "_" or "-"';
  throw new MucastError("invalid_request", message, { path: "name" });
}

/** The same for a blob that does not exist and for a blob of another caller. */
function noBlob(name: string): MucastError {
  return new MucastError("not_found", `there is no blob ${show(name)}`, { path: "name" });
}
