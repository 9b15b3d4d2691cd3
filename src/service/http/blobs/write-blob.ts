import type { IncomingMessage } from "node:http";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { StoredBlob, StoreWrite } from "../../../blob/store.ts";
import { MucastError } from "../../../contract/errors/errors.ts";
import { type BlobUpload, storageFailed } from "../../blobs/blobs.ts";
import type { UploadedBlob } from "../openapi/body-schemas.ts";
import { checkIfMatch, matchesNone } from "../server/conditional-requests.ts";
import { gatheredPieces } from "../server/gathered-pieces.ts";
import type { HttpOptions } from "../server/http-app.ts";
import { blobBase } from "../server/public-origin.ts";
import { checkWritable, noBlob } from "./blob-names.ts";

/** Stores an uploaded blob atomically. Makes every possible check before it reads the first byte. */
export async function writeBlob(
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
  const body = new UploadBody(raw, (bytes) => upload.reserve(bytes), check);
  const { created, etag } = await storeBody(
    settings,
    name,
    upload,
    body,
    headers["if-none-match"]?.trim() === "*",
  );
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

/** Stores the body and records the blob. If that fails, it discards the upload, which releases its space. */
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
  const answer = await written.catch(async (error: unknown) => {
    await upload.discard();
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
  readonly #reserve: (bytes: number) => Promise<void>;
  readonly #check: () => Promise<void>;

  /** @param reserve reserves space for that many bytes; throws if there is none. */
  constructor(raw: IncomingMessage, reserve: (bytes: number) => Promise<void>, check: () => Promise<void>) {
    this.#raw = raw;
    this.#reserve = reserve;
    this.#check = check;
  }

  async *pieces(): AsyncGenerator<Uint8Array> {
    // If the store stops early, the connection must stay open for the problem.
    for await (const piece of gatheredPieces(this.#raw).iterator({ destroyOnReturn: false })) {
      this.bytes += piece.length;
      await this.#reserve(this.bytes);
      yield piece;
    }
    await this.#check();
    this.isWhole = true;
  }
}
