import type { FastifyRequest } from "fastify";
import { MucastError } from "../../../contract/errors/errors.ts";
import type { HttpApp } from "./http-app.ts";

const JSON_TYPE = /^application\/(?:[\w.-]+\+)?json(?:;|$)/i;
const SLOWEST_BODY_MILLISECONDS = 30_000;

/** Takes JSON bodies as the text they are, so that numbers keep their spelling. */
export function readBodiesAsText(app: HttpApp): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser<Buffer>(
    JSON_TYPE,
    { parseAs: "buffer" },
    async (request: FastifyRequest, body: Buffer) => {
      checkEncoding(request);
      return decoded(body);
    },
  );
}

/** The text of a request of `readBodiesAsText`; empty where it has no body. */
export function bodyText({ body }: { readonly body: unknown }): string {
  return typeof body === "string" ? body : "";
}

/** Takes any body and forgets it: of requests that need none, whatever a client puts there. */
export function discardBodies(app: HttpApp): void {
  app.removeAllContentTypeParsers();
  dropContentType(app);
  app.addContentTypeParser("*", { parseAs: "buffer" }, async () => undefined);
}

/** Has a Content-Type count for nothing, so that one that is not even well-formed is no fault. */
export function dropContentType(app: HttpApp): void {
  app.addHook("preParsing", async ({ raw }) => {
    delete raw.headers["content-type"];
  });
}

/** Ends a connection that takes half a minute and more over a small body. */
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
