import { Readable } from "node:stream";
import type { FastifyReply, FastifyRequest } from "fastify";
import { isInputName, mediaType, outputIdIn } from "../../../blob/names.ts";
import type { StoredBlob } from "../../../blob/store.ts";
import type { BlobPage } from "../../../contract/api/prepared-blobs.ts";
import { MucastError } from "../../../contract/errors/errors.ts";
import { show } from "../../../contract/errors/faults.ts";
import { type BlobUpload, storageFailed } from "../../blobs/blobs.ts";
import { OpenAnswers } from "../guard/open-answers.ts";
import type { UploadedBlob } from "../openapi/component-schemas.ts";
import { byteRange, checkIfMatch, matchesNone } from "../server/conditional-requests.ts";
import { blobBase, type HttpApp, type HttpOptions } from "../server/http-app.ts";
import { requestAbort } from "../server/request-abort.ts";
import { leaveBodies } from "../server/request-body.ts";
import { listDocs, blobParams as params, readDocs, removeDocs, writeDocs } from "./blob-docs.ts";

const WRITE_PROBLEMS = [
  ...(["not_found", "method_not_allowed", "precondition_failed", "too_large", "quota_exceeded"] as const),
  ...(["storage_full", "storage_failed", "blob_unavailable"] as const),
];

/** `GET`, `HEAD`, `PUT` and `DELETE /data/{name}`, and `GET /v1/data`. */
export function blobRoutes(app: HttpApp, options: HttpOptions, closing: AbortSignal): void {
  const { settings, blobs } = options;
  const open = new OpenAnswers({
    ofCaller: settings.downloads_per_caller,
    all: settings.downloads,
    what: "downloads",
  });
  leaveBodies(app);
  app.route({
    method: ["GET", "HEAD"],
    url: "/data/:name",
    config: {
      access: "read",
      problems: ["not_found", "precondition_failed", "range_not_satisfiable", "blob_unavailable"],
    },
    schema: { ...readDocs, params },
    handler: (request, reply) => readBlob(request, reply, request.params.name, { options, open, closing }),
  });
  app.route({
    method: "PUT",
    url: "/data/:name",
    config: { access: "write", isStreamed: true, problems: WRITE_PROBLEMS },
    schema: { ...writeDocs, params },
    handler: (request, reply) => writeBlob(request, reply, request.params.name, options),
  });
  app.route({
    method: "DELETE",
    url: "/data/:name",
    config: {
      access: "write",
      problems: ["not_found", "precondition_failed", "blob_in_use", "storage_failed", "blob_unavailable"],
    },
    schema: { ...removeDocs, params },
    handler: async (request, reply) => {
      const { name } = request.params;
      // Checks the name; and the version, if it matters.
      checkReadable(name);
      if (request.headers["if-match"] !== undefined) {
        checkIfMatch(request.headers, (await lookUp(request, name, options)).etag);
      }
      if (!(await blobs.remove(request.caller!, name))) throw noBlob(name);
      return reply.code(204).send();
    },
  });
  app.route({
    method: "GET",
    url: "/v1/data",
    config: { access: "read" },
    schema: listDocs,
    handler: async (request): Promise<BlobPage> => {
      const { blobs: page, cursor } = await blobs.list(request.caller!, request.query);
      const views = page.map(({ name, kind, bytes, createdAt, contents, store }) => ({
        name,
        url: `${blobBase(settings, store, request)}/data/${name}`,
        kind,
        size: bytes,
        created_at: createdAt.toISOString(),
        ...contents,
      }));
      return { blobs: views, next_cursor: cursor ?? null };
    },
  });
}

interface ReadBlobParts {
  readonly options: HttpOptions;
  readonly open: OpenAnswers;
  /** Aborts when the service closes. */
  readonly closing: AbortSignal;
}

/** Answers with a blob of the caller, or with the byte range that the request names. */
async function readBlob(
  request: FastifyRequest,
  reply: FastifyReply,
  name: string,
  { options, open, closing }: ReadBlobParts,
): Promise<FastifyReply> {
  checkReadable(name);
  const { headers, method } = request;
  const { store, key, size, etag } = await lookUp(request, name, options);
  checkIfMatch(headers, etag);
  reply.headers({ etag, "accept-ranges": "bytes", "cache-control": "private, no-cache" });
  if (!matchesNone(headers, etag)) return reply.code(304).send();
  const range = method === "HEAD" ? undefined : byteRange(headers, { size, etag });
  const { start, end } = range ?? { start: 0, end: size };
  if (range !== undefined) reply.code(206).header("content-range", `bytes ${start}-${end - 1}/${size}`);
  reply.type(mediaType(name)).header("content-length", end - start);
  if (method === "HEAD" || size === 0) return reply.send();
  open.begin(request.caller!.subject, reply.raw);
  const signal = requestAbort(reply, closing);
  return reply.send(await withFirstPiece(store.read(key, { start, end, etag, signal }), signal));
}

/** The address of a blob of the caller, with its size and version. @throws MucastError not_found. */
async function lookUp(request: FastifyRequest, name: string, { blobs }: HttpOptions) {
  const address = await blobs.find(request.caller!, name);
  const blob = await address?.store.stat(address.key);
  if (address === undefined || blob === undefined) throw noBlob(name);
  return { ...address, ...blob };
}

/** A stream whose first piece has been read. A failure before that piece rejects, so that the caller gets a problem. */
async function withFirstPiece(pieces: AsyncIterable<Uint8Array>, signal: AbortSignal): Promise<Readable> {
  const iterator = pieces[Symbol.asyncIterator]();
  const first = await iterator.next();
  async function* all(): AsyncGenerator<Uint8Array> {
    if (!first.done) yield first.value;
    yield* { [Symbol.asyncIterator]: () => iterator };
  }
  const stream = Readable.from(all(), { objectMode: false, signal });
  // If a stream closes before anything is read from it, its generator does not end, and the file would stay open.
  stream.once("close", () => void iterator.return?.().catch(() => undefined));
  return stream;
}

/** Stores an uploaded blob atomically. Makes every possible check before it reads the first byte. */
async function writeBlob(
  request: FastifyRequest,
  reply: FastifyReply,
  name: string,
  { settings, blobs }: HttpOptions,
): Promise<UploadedBlob> {
  checkWritable(name);
  const { headers } = request;
  const caller = request.caller!;
  const length = headers["content-length"] === undefined ? undefined : Number(headers["content-length"]);
  checkSent(headers["content-range"], length, settings.upload_bytes);
  const address = await blobs.uploadAddress(caller, name);
  if (address === undefined) throw noBlob(name);
  checkConditions(request, await address.store.stat(address.key));
  const upload = await blobs.beginUpload(caller, name, length);
  if (upload === undefined) throw noBlob(name);
  if (headers.expect !== undefined) reply.raw.writeContinue();
  try {
    const { created, etag, size } = await storeBody(request, name, upload, settings.upload_bytes);
    await upload.finish(size);
    reply.code(created ? 201 : 200).header("etag", etag);
    return { name, url: `${blobBase(settings, upload.store, request)}/data/${name}`, size, etag };
  } finally {
    await upload.close();
  }
}

/** A PUT with Content-Range would replace the whole blob with a part (RFC 9110, section 14.5). */
function checkSent(range: string | undefined, length: number | undefined, limit: number): void {
  if (range !== undefined) {
    const message = "a blob is written whole; leave Content-Range out and send all of it";
    throw new MucastError("invalid_request", message, { path: "Content-Range", value: range.slice(0, 100) });
  }
  if (length === undefined || length <= limit) return;
  const message = `the blob has ${length} bytes; at most ${limit} are accepted (upload_bytes)`;
  throw new MucastError("too_large", message, { path: "Content-Length", value: length });
}

/** @throws MucastError precondition_failed. */
function checkConditions({ headers }: FastifyRequest, now: StoredBlob | undefined): void {
  checkIfMatch(headers, now?.etag);
  if (!matchesNone(headers, now?.etag)) throw alreadyExists();
}

async function storeBody(request: FastifyRequest, name: string, upload: BlobUpload, limit: number) {
  const { store, key } = upload;
  let [size, isWhole] = [0, false];
  async function* pieces(): AsyncGenerator<Uint8Array> {
    // If the store stops early, the connection must stay open for the problem.
    for await (const piece of request.raw.iterator({ destroyOnReturn: false })) {
      size += piece.length;
      upload.checkRoom(size);
      yield piece;
    }
    // The last moment at which nothing has changed.
    checkConditions(request, await store.stat(key));
    isWhole = true;
  }
  try {
    if (request.headers["if-none-match"]?.trim() !== "*") {
      return { ...(await store.put(key, pieces(), { limit })), size };
    }
    const { etag } = await store.create(key, pieces(), { limit });
    return { etag, created: true, size };
  } catch (error) {
    // Another upload may have created the blob since the check.
    const isTaken = isWhole && request.headers["if-none-match"] !== undefined;
    if (isTaken && (await store.stat(key)) !== undefined) throw alreadyExists();
    throw storageFailed(error, `${name} could not be stored`);
  }
}

function alreadyExists(): MucastError {
  return new MucastError("precondition_failed", "there is such a blob already", { path: "If-None-Match" });
}

/** @throws MucastError not_found for a name that no blob can have. */
function checkReadable(name: string): void {
  if (!isInputName(name) && outputIdIn(name) === undefined) throw noBlob(name);
}

/** @throws MucastError method_not_allowed for outputs, which only jobs write; invalid_request for other names. */
function checkWritable(name: string): void {
  if (isInputName(name)) return;
  if (outputIdIn(name) !== undefined) {
    throw new MucastError("method_not_allowed", `${name} is an output, which jobs alone write`, {
      allow: ["DELETE", "GET", "HEAD"],
    });
  }
  throw new MucastError(
    "invalid_request",
    `the name ${show(name)} is neither feature_engine_<id>.json nor data_extractor_<id>.json (or .parquet) with an id ` +
      'of 1 to 64 letters, digits, "_" or "-"',
    { path: "name" },
  );
}

/** The same for a blob that does not exist and for a blob of another caller. */
function noBlob(name: string): MucastError {
  return new MucastError("not_found", `there is no blob ${show(name)}`, { path: "name" });
}
