import type { IncomingMessage } from "node:http";
import { Readable } from "node:stream";
import type { FastifyReply, FastifyRequest } from "fastify";
import { isInputName, mediaType, outputIdIn } from "../../../blob/names.ts";
import type { StoredBlob, StoreWrite } from "../../../blob/store.ts";
import { MucastError } from "../../../contract/errors/errors.ts";
import { show } from "../../../contract/errors/faults.ts";
import { type BlobUpload, storageFailed } from "../../blobs/blobs.ts";
import { OpenAnswers } from "../guard/caller-limits.ts";
import type { UploadedBlob } from "../openapi/component-schemas.ts";
import { byteRange, checkIfMatch, matchesNone } from "../server/conditional-requests.ts";
import { blobBase, type HttpApp, type HttpOptions } from "../server/http-app.ts";
import { requestAbort } from "../server/request-abort.ts";
import { gatheredPieces, ignoreContentType } from "../server/request-bodies.ts";
import { blobParams, readBlobDocs, removeBlobDocs, writeBlobDocs } from "./blob-docs.ts";

/** `GET`, `HEAD`, `PUT` and `DELETE /data/{name}`. */
export function blobRoutes(app: HttpApp, options: HttpOptions, closing: AbortSignal): void {
  const { settings } = options;
  const open = new OpenAnswers({
    ofCaller: settings.downloads_per_caller,
    all: settings.downloads,
    what: "downloads",
  });
  const reading = { options, open, closing };
  app.removeAllContentTypeParsers();
  ignoreContentType(app);
  // writeBlob reads the body itself, piece by piece.
  app.addContentTypeParser("*", (_request, _payload, done) => done(null));
  app.route({
    method: ["GET", "HEAD"],
    url: "/data/:name",
    config: { access: "read" },
    schema: { ...readBlobDocs, params: blobParams },
    handler: (request, reply) => readBlob(request, reply, request.params.name, reading),
  });
  app.route({
    method: "PUT",
    url: "/data/:name",
    config: { access: "write", isStreamed: true },
    schema: { ...writeBlobDocs, params: blobParams },
    handler: (request, reply) => writeBlob(request, reply, request.params.name, options),
  });
  app.route({
    method: "DELETE",
    url: "/data/:name",
    config: { access: "write" },
    schema: { ...removeBlobDocs, params: blobParams },
    handler: (request, reply) => removeBlob(request, reply, request.params.name, options),
  });
}

/** Removes an input or an output of the caller. */
async function removeBlob(
  request: FastifyRequest,
  reply: FastifyReply,
  name: string,
  { blobs }: HttpOptions,
): Promise<FastifyReply> {
  checkReadable(name);
  const caller = request.caller!;
  if (request.headers["if-match"] !== undefined) {
    const address = await blobs.find(caller, name);
    const blob = await address?.store.stat(address.key);
    if (blob === undefined) throw noBlob(name);
    checkIfMatch(request.headers, blob.etag);
  }
  if (!(await blobs.remove(caller, name))) throw noBlob(name);
  return reply.code(204).send();
}

interface ReadBlobParts {
  readonly options: HttpOptions;
  readonly open: OpenAnswers;
  /** Aborts when the service closes. */
  readonly closing: AbortSignal;
}

/** How often a read restarts because the caller replaced the blob before its first piece was read. */
const MAX_LOOKUPS = 3;

/** Answers with a blob of the caller, or with the byte range that the request names. */
async function readBlob(
  request: FastifyRequest,
  reply: FastifyReply,
  name: string,
  { options, open, closing }: ReadBlobParts,
): Promise<FastifyReply> {
  checkReadable(name);
  let isCounted = false;
  for (let lookups = 1; ; lookups++) {
    const { store, key, size, etag } = await lookUp(request, name, options);
    checkIfMatch(request.headers, etag);
    reply.headers({ etag, "accept-ranges": "bytes", "cache-control": "private, no-cache" });
    if (!matchesNone(request.headers, etag)) return reply.code(304).send();
    const range = request.method === "HEAD" ? undefined : byteRange(request.headers, { size, etag });
    const { start, end } = range ?? { start: 0, end: size };
    if (range === undefined) reply.code(200).removeHeader("content-range");
    else reply.code(206).header("content-range", `bytes ${start}-${end - 1}/${size}`);
    reply.type(mediaType(name)).header("content-length", end - start);
    if (request.method === "HEAD" || size === 0) return reply.send();
    if (!isCounted) open.begin(request.caller!.subject, reply.raw);
    isCounted = true;
    const signal = requestAbort(reply, closing);
    const pieces = store.read(key, { start, end, etag, signal });
    try {
      return reply.send(await withFirstPiece(pieces, signal));
    } catch (error) {
      if (lookups === MAX_LOOKUPS || (await lookUp(request, name, options)).etag === etag) throw error;
    }
  }
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
  const rest = { [Symbol.asyncIterator]: () => iterator };
  async function* all(): AsyncGenerator<Uint8Array> {
    if (!first.done) yield first.value;
    yield* rest;
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
  options: HttpOptions,
): Promise<UploadedBlob> {
  checkWritable(name);
  const { headers, raw } = request;
  const { settings, blobs } = options;
  const caller = request.caller!;
  checkWhole(headers["content-range"]);
  checkLength(headers["content-length"], settings.upload_bytes);
  const address = await blobs.uploadAddress(caller, name);
  if (address === undefined) throw noBlob(name);
  checkConditions(request, await address.store.stat(address.key));
  const upload = await blobs.beginUpload(caller, name, lengthOf(headers["content-length"]));
  if (upload === undefined) throw noBlob(name);
  if (headers.expect !== undefined) reply.raw.writeContinue();
  const check = async () => checkConditions(request, await upload.store.stat(upload.key));
  const body = new UploadBody(raw, (bytes) => upload.checkRoom(bytes), check);
  const { created, etag } = await storeBody(
    settings,
    name,
    upload,
    body,
    headers["if-none-match"]?.trim() === "*",
  ).finally(() => upload.close());
  reply.code(created ? 201 : 200).header("etag", etag);
  return { name, url: `${blobBase(settings, upload.store, request)}/data/${name}`, size: body.bytes, etag };
}

function lengthOf(header: string | undefined): number | undefined {
  return header === undefined ? undefined : Number(header);
}

/** A PUT with Content-Range would replace the whole blob with a part (RFC 9110, section 14.5). */
function checkWhole(range: string | undefined): void {
  if (range === undefined) return;
  const message = "a blob is written whole; leave Content-Range out and send all of it";
  throw new MucastError("invalid_request", message, { path: "Content-Range", value: range.slice(0, 100) });
}

function checkLength(header: string | undefined, limit: number): void {
  if (header === undefined || Number(header) <= limit) return;
  throw new MucastError(
    "too_large",
    `the blob has ${header} bytes; at most ${limit} are accepted (upload_bytes)`,
    {
      path: "Content-Length",
      value: Number(header),
    },
  );
}

/** @throws MucastError precondition_failed. */
function checkConditions({ headers }: FastifyRequest, now: StoredBlob | undefined): void {
  checkIfMatch(headers, now?.etag);
  if (matchesNone(headers, now?.etag)) return;
  throw alreadyExists();
}

/** Stores the body and records the blob. */
async function storeBody(
  { upload_bytes: limit }: HttpOptions["settings"],
  name: string,
  upload: BlobUpload,
  body: UploadBody,
  isNewOnly: boolean,
): Promise<{ created: boolean; etag: string }> {
  const { store, key } = upload;
  const write = { limit };
  const written = isNewOnly ? createBlob(upload, body, write) : store.put(key, body.pieces(), write);
  const answer = await written.catch((error: unknown) => {
    throw storageFailed(error, `${name} could not be stored`);
  });
  await upload.finish(body.bytes);
  return answer;
}

async function createBlob({ store, key }: BlobUpload, body: UploadBody, write: StoreWrite) {
  const { etag } = await store.create(key, body.pieces(), write).catch(async (error: unknown) => {
    // Another upload may have created the blob since the check.
    throw body.isWhole && (await store.stat(key)) !== undefined ? alreadyExists() : error;
  });
  return { created: true, etag };
}

function alreadyExists(): MucastError {
  return new MucastError("precondition_failed", "there is such a blob already", { path: "If-None-Match" });
}

/** Counts the bytes of a body. Checks the conditions again after the last byte. */
class UploadBody {
  bytes = 0;
  isWhole = false;
  readonly #raw: IncomingMessage;
  readonly #checkRoom: (bytes: number) => void;
  readonly #check: () => Promise<void>;

  /** @param checkRoom throws if there is no room for that many bytes. */
  constructor(raw: IncomingMessage, checkRoom: (bytes: number) => void, check: () => Promise<void>) {
    this.#raw = raw;
    this.#checkRoom = checkRoom;
    this.#check = check;
  }

  async *pieces(): AsyncGenerator<Uint8Array> {
    // If the store stops early, the connection must stay open for the problem.
    for await (const piece of gatheredPieces(this.#raw).iterator({ destroyOnReturn: false })) {
      this.bytes += piece.length;
      this.#checkRoom(this.bytes);
      yield piece;
    }
    await this.#check();
    this.isWhole = true;
  }
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
