import { Readable } from "node:stream";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { OpenDownloads } from "../guard/caller-limits.ts";
import type { HttpOptions } from "../server/http-app.ts";
import { paced, requestAbort, STALL_MILLISECONDS } from "../server/request-abort.ts";
import { checkReadable, noBlob } from "./blob-names.ts";
import { byteRange, checkIfMatch, matchesNone } from "./conditional-requests.ts";

/** What reading blobs stands on. */
export interface Reading {
  readonly options: HttpOptions;
  readonly open: OpenDownloads;
  /** Aborted when the service ends. */
  readonly closing: AbortSignal;
}

/** How often a blob is looked up whose owner replaces it before its first piece is read. */
const LOOKS_AT_MOST = 3;

/** Answers with a blob of the caller's, or with the part of it that is asked for. */
export async function readBlob(
  request: FastifyRequest,
  reply: FastifyReply,
  name: string,
  { options, open, closing }: Reading,
): Promise<FastifyReply> {
  checkReadable(name);
  let isCounted = false;
  for (let looks = 1; ; looks++) {
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
    const pieces = paced(
      store.read(key, { start, end, etag, signal }),
      options.stallMilliseconds ?? STALL_MILLISECONDS,
      () => reply.raw.destroy(),
    );
    try {
      return reply.send(await begun(pieces, signal));
    } catch (error) {
      if (looks === LOOKS_AT_MOST || (await lookUp(request, name, options)).etag === etag) throw error;
    }
  }
}

/** Where a blob of the caller's lies now, and its version. @throws MucastError not_found. */
async function lookUp(request: FastifyRequest, name: string, { blobs }: HttpOptions) {
  const spot = await blobs.find(request.caller!, name);
  const blob = await spot?.store.stat(spot.key);
  if (spot === undefined || blob === undefined) throw noBlob(name);
  return { ...spot, ...blob };
}

/** A stream whose first piece is there already: what fails before it is still answered with a problem. */
async function begun(pieces: AsyncIterable<Uint8Array>, signal: AbortSignal): Promise<Readable> {
  const iterator = pieces[Symbol.asyncIterator]();
  const first = await iterator.next();
  const rest = { [Symbol.asyncIterator]: () => iterator };
  async function* all(): AsyncGenerator<Uint8Array> {
    if (!first.done) yield first.value;
    yield* rest;
  }
  const stream = Readable.from(all(), { objectMode: false, signal });
  // One whose reader has gone before it is read from ends nothing by itself: the file would stay open.
  stream.once("close", () => void iterator.return?.().catch(() => undefined));
  return stream;
}
