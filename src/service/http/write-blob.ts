import type { IncomingMessage } from "node:http";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { StoredBlob } from "../../blob/store.ts";
import { MucastError } from "../../contract/errors.ts";
import { checkWritable, noBlob } from "./blob-names.ts";
import { checkIfMatch, matchesNone } from "./conditions.ts";
import type { HttpOptions } from "./http-options.ts";
import { blobBase } from "./own-origin.ts";
import type { UploadedBlob } from "./uploaded-blob.ts";

/** Stores an uploaded blob, whole or not at all. Everything that can be refused is before its bytes are taken. */
export async function writeBlob(
  request: FastifyRequest,
  reply: FastifyReply,
  name: string,
  options: HttpOptions,
): Promise<UploadedBlob> {
  checkWritable(name);
  const { headers, raw } = request;
  const { settings, store } = options;
  checkWhole(headers["content-range"]);
  checkLength(headers["content-length"], settings.upload_bytes);
  const before = await store.stat(`data/${name}`);
  await claim(request, name, before, options);
  checkConditions(request, before);
  if (headers.expect !== undefined) reply.raw.writeContinue();
  const upload = new Upload(raw, async () => checkConditions(request, await store.stat(`data/${name}`)));
  const { created, etag } = await stored(options, name, upload, headers["if-none-match"]?.trim() === "*");
  reply.code(created ? 201 : 200).header("etag", etag);
  return { name, url: `${blobBase(options, request)}/data/${name}`, size: upload.bytes, etag };
}

/** A part would replace the whole (RFC 9110, section 14.5). */
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

/** Makes the name the caller's. What is there already and nobody's, the operator has put there. */
async function claim(
  { caller }: FastifyRequest,
  name: string,
  before: StoredBlob | undefined,
  { operations, settings }: HttpOptions,
): Promise<void> {
  const owner = await operations.ownerOf(name);
  if (owner === caller!.subject) return;
  const isTaken = owner !== undefined || (before !== undefined && settings.auth !== "none");
  if (isTaken) throw noBlob(name);
  await operations.claimBlob(caller!, name).catch((error) => {
    throw error instanceof MucastError && error.code === "forbidden" ? noBlob(name) : error;
  });
}

/** @throws MucastError precondition_failed. */
function checkConditions({ headers }: FastifyRequest, now: StoredBlob | undefined): void {
  checkIfMatch(headers, now?.etag);
  if (matchesNone(headers, now?.etag)) return;
  throw alreadyThere();
}

async function stored(
  { settings, store }: HttpOptions,
  name: string,
  upload: Upload,
  isNewOnly: boolean,
): Promise<{ created: boolean; etag: string }> {
  const key = `data/${name}`;
  const write = { limit: settings.upload_bytes };
  if (!isNewOnly) return store.put(key, upload.pieces(), write);
  const { etag } = await store.create(key, upload.pieces(), write).catch(async (error) => {
    // Another upload may have been faster by a moment.
    throw upload.isWhole && (await store.stat(key)) !== undefined ? alreadyThere() : error;
  });
  return { created: true, etag };
}

function alreadyThere(): MucastError {
  return new MucastError("precondition_failed", "there is such a blob already", { path: "If-None-Match" });
}

/** The bytes of a request, counted; conditions are looked at again once they are all there. */
class Upload {
  bytes = 0;
  isWhole = false;
  readonly #raw: IncomingMessage;
  readonly #check: () => Promise<void>;

  constructor(raw: IncomingMessage, check: () => Promise<void>) {
    this.#raw = raw;
    this.#check = check;
  }

  async *pieces(): AsyncGenerator<Uint8Array> {
    // A store that stops early must not close the connection, on which it is still to be told why.
    for await (const piece of this.#raw.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      this.bytes += piece.length;
      yield piece;
    }
    await this.#check();
    this.isWhole = true;
  }
}
