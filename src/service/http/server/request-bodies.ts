import type { FastifyRequest } from "fastify";
import { MucastError } from "../../../contract/errors/errors.ts";
import { addressKey } from "./address-key.ts";
import { gatheredPieces } from "./gathered-pieces.ts";
import type { HttpApp } from "./http-app.ts";
import { loopTurns } from "./loop-turns.ts";

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
      if (request.raw.socket.destroyed) throw closed();
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

/** Nobody reads the answer to such a request, so none is started. */
function closed(): MucastError {
  return new MucastError("canceled", "the connection closed before its request was handled");
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
