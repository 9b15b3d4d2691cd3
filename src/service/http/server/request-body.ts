import type { FastifyRequest } from "fastify";
import { MucastError } from "../../../contract/errors/errors.ts";
import type { HttpApp } from "./http-app.ts";

const JSON_TYPE = /^application\/(?:[\w.-]+\+)?json(?:;|$)/i;

/** Makes the routes of a group take a JSON body as text, so that numbers keep their spelling. */
export function readBodiesAsText(app: HttpApp): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser<Buffer>(
    JSON_TYPE,
    { parseAs: "buffer" },
    async (_request: FastifyRequest, body: Buffer) => {
      try {
        return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(body);
      } catch (cause) {
        const message = "the body is not valid UTF-8, or is compressed";
        throw new MucastError("invalid_request", message, { path: "body" }, { cause });
      }
    },
  );
}

/** The body of a request to a group with `readBodiesAsText`; empty if the request has none. */
export function bodyText({ body }: { readonly body: unknown }): string {
  return typeof body === "string" ? body : "";
}

/** Makes the routes of a group accept a body of any type and discard it: some clients send one that no route needs. */
export function discardBodies(app: HttpApp): void {
  acceptEveryType(app);
  app.addContentTypeParser("*", { parseAs: "buffer" }, async () => undefined);
}

/** Makes the routes of a group leave a body of any type on the connection, for their handler to read piece by piece. */
export function leaveBodies(app: HttpApp): void {
  acceptEveryType(app);
  app.addContentTypeParser("*", (_request, _payload, done) => done(null));
}

/** Fastify would refuse a malformed Content-Type. */
function acceptEveryType(app: HttpApp): void {
  app.removeAllContentTypeParsers();
  app.addHook("preParsing", async ({ raw }) => {
    delete raw.headers["content-type"];
  });
}
