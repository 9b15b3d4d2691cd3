import { Readable } from "node:stream";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { OpenAnswers } from "../guard/caller-limits.ts";
import { byteRange, checkIfMatch, matchesNone } from "../server/conditional-requests.ts";
import type { HttpOptions } from "../server/http-app.ts";
import { requestAbort } from "../server/request-abort.ts";
import { checkReadable, noBlob } from "./blob-names.ts";

interface ReadBlobParts {
  readonly options: HttpOptions;
  readonly open: OpenAnswers;
  /** Aborts when the service closes. */
  readonly closing: AbortSignal;
}

/** How often a read restarts because the caller replaced the blob before its first piece was read. */
const MAX_LOOKUPS = 3;

/** Answers with a blob of the caller, or with the byte range that the request names. */
export async function readBlob(
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
    reply.type("application/json").header("content-length", end - start);
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
