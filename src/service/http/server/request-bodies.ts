import { pipeline, type Readable, Transform, type TransformCallback } from "node:stream";
import type { FastifyRequest } from "fastify";
import { MucastError } from "../../../contract/errors/errors.ts";
import { afterFreeTurns } from "../../free-turns.ts";
import { addressKey } from "./address-key.ts";
import type { HttpApp } from "./http-app.ts";

const JSON_TYPE = /^application\/(?:[\w.-]+\+)?json(?:;|$)/i;
const SLOWEST_BODY_MILLISECONDS = 30_000;

/** Makes the routes of a group take a JSON body as text, so that numbers keep their spelling. */
export function readBodiesAsText(app: HttpApp): void {
  readBodies(app, decoded);
}

/** Makes the routes of a group take a JSON body as its bytes. */
export function readBodiesAsBytes(app: HttpApp): void {
  readBodies(app, (body) => body);
}

function readBodies(app: HttpApp, read: (body: Buffer) => string | Buffer): void {
  app.removeAllContentTypeParsers();
  gatherPieces(app);
  app.addContentTypeParser<Buffer>(
    JSON_TYPE,
    { parseAs: "buffer" },
    async (request: FastifyRequest, body: Buffer) => {
      checkEncoding(request);
      await loopTurns.next(request.caller?.subject ?? addressKey(request.ip));
      // Such an answer has no reader, so none is started.
      if (request.raw.socket.destroyed) throw new MucastError("canceled", "the connection closed");
      return read(body);
    },
  );
}

/** The body of a request to a group with `readBodiesAsText`; empty if the request has none. */
export function bodyText({ body }: { readonly body: unknown }): string {
  return typeof body === "string" ? body : "";
}

/** Makes the routes of a group accept a body of any type and discard it: some clients send one that no route needs. */
export function discardBodies(app: HttpApp): void {
  app.removeAllContentTypeParsers();
  ignoreContentType(app);
  gatherPieces(app);
  app.addContentTypeParser("*", { parseAs: "buffer" }, async () => undefined);
}

/** Fastify keeps the pieces of a body in a list until it is complete. */
function gatherPieces(app: HttpApp): void {
  app.addHook("preParsing", async ({ headers }, _reply, payload) => {
    if (headers["content-length"] === undefined && headers["transfer-encoding"] === undefined) return payload;
    return gatheredPieces(payload);
  });
}

/** Makes the routes of a group ignore Content-Type, so that Fastify does not refuse a malformed one. */
export function ignoreContentType(app: HttpApp): void {
  app.addHook("preParsing", async ({ raw }) => {
    delete raw.headers["content-type"];
  });
}

/** Closes the connection of a request whose small body takes more than 30 s. */
export function limitBodyTime({ raw }: FastifyRequest): void {
  if (raw.complete) return;
  const timer = setTimeout(() => raw.destroy(), SLOWEST_BODY_MILLISECONDS).unref();
  raw.once("end", () => clearTimeout(timer)).once("close", () => clearTimeout(timer));
}

function checkEncoding({ headers }: FastifyRequest): void {
  const encoding = headers["content-encoding"];
  const charset = /;\s*charset\s*=\s*"?([^\s;"]+)/i.exec(headers["content-type"] ?? "")?.[1];
  if (encoding !== undefined && encoding.toLowerCase() !== "identity") {
    throw unsupported(
      "Content-Encoding",
      `the body must not be compressed, got Content-Encoding: ${encoding}`,
    );
  }
  if (charset !== undefined && !/^utf-?8$/i.test(charset)) {
    throw unsupported("Content-Type", `the body must be UTF-8, got charset ${charset}`);
  }
}

function unsupported(path: string, message: string): MucastError {
  return new MucastError("unsupported_media_type", message, { path });
}

function decoded(body: Buffer): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(body);
  } catch (error) {
    throw new MucastError(
      "invalid_request",
      "the body is not valid UTF-8",
      { path: "body" },
      { cause: error },
    );
  }
}

/** Bytes of a gathered piece; the last one of a stream may be smaller. */
const PIECE_BYTES = 64 * 2 ** 10;

/** Bytes that are allocated for the first piece. */
const FIRST_BYTES = 1 * 2 ** 10;

const EMPTY = Buffer.alloc(0);

/**
 * Joins the small pieces of a body into pieces of 64 KiB. A client may send it in chunks of one byte, and Node keeps each in a
 * separate buffer, which takes hundreds of bytes. If the body ends early, the gathered stream ends with that error.
 */
export function gatheredPieces(body: Readable): Readable {
  return pipeline(body, new GatheredPieces(), () => undefined);
}

class GatheredPieces extends Transform {
  #gathered: Buffer = EMPTY;
  #length = 0;

  override _transform(piece: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    const length = this.#length + piece.length;
    if (length > this.#gathered.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(length, 2 * this.#gathered.length, FIRST_BYTES));
      this.#gathered.copy(larger, 0, 0, this.#length);
      this.#gathered = larger;
    }
    piece.copy(this.#gathered, this.#length);
    this.#length = length;
    if (length >= PIECE_BYTES) this.#pass();
    done();
  }

  override _flush(done: TransformCallback): void {
    if (this.#length > 0) this.#pass();
    done();
  }

  #pass(): void {
    this.push(this.#gathered.subarray(0, this.#length));
    this.#gathered = EMPTY;
    this.#length = 0;
  }
}

/**
 * Turns of the event loop for work that takes some milliseconds of it: to parse and check a body, or to write a page. The requests of
 * many connections often arrive together: without turns, every other request would wait for all of them.
 *
 * A turn of the loop begins the next piece of work of one caller, and callers alternate. Some turns without such work follow
 * it, in which the loop accepts connections.
 */
export class LoopTurns {
  /** For each caller, the functions that start its work. The caller whose turn is next comes first. */
  readonly #waiting = new Map<string, (() => void)[]>();
  #isScheduled = false;

  /** @returns when the next piece of work of the caller may start: in a later turn of the event loop. */
  next(caller: string): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const own = this.#waiting.get(caller);
    if (own === undefined) this.#waiting.set(caller, [resolve]);
    else own.push(resolve);
    this.#schedule();
    return promise;
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#begin();
      afterFreeTurns(() => {
        this.#isScheduled = false;
        if (this.#waiting.size > 0) this.#schedule();
      });
    });
  }

  #begin(): void {
    const [first] = this.#waiting;
    if (first === undefined) return;
    const [caller, own] = first;
    const begin = own.shift();
    this.#waiting.delete(caller);
    if (own.length > 0) this.#waiting.set(caller, own);
    begin?.();
  }
}

/** One for the process: all routes share its event loop. */
export const loopTurns = new LoopTurns();
