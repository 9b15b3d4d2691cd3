import type { FastifyReply, FastifyRequest } from "fastify";
import { z } from "zod";
import { MucastError } from "../../../contract/errors/errors.ts";
import { addressKey } from "../server/address-key.ts";
import { matchesNone } from "../server/conditional-requests.ts";
import type { HttpApp, HttpOptions } from "../server/http-app.ts";
import { loopTurns } from "../server/request-bodies.ts";
import { readConsoleFiles } from "./console-files.ts";
import { CONSOLE_POLICY, consolePage } from "./console-page.ts";
import { DOCS_POLICY, docsPage } from "./docs-page.ts";
import { readSwaggerFiles } from "./swagger-files.ts";
import { WEB_TYPES, type WebFile, type WebFiles, webFile } from "./web-files.ts";

/** The name of a file has the hash of all files of its page, so it never changes. */
const FOREVER = "public, max-age=31536000, immutable";

/** Each page reads its files once, at the first request, since most services of a test or a cluster show no page. */
const consoleFiles = once(readConsoleFiles);
const docsFiles = once(readSwaggerFiles);

const HIDDEN = { hide: true } as const;
const PAGE = { config: { access: "anyone", isPage: true }, schema: HIDDEN } as const;

/**
 * `GET /`, the console, `GET /docs`, Swagger UI, and `GET /web/<version>/<path>`, the files of both. A program that requests `/` as
 * JSON is redirected to `/docs`.
 */
export function pageRoutes(app: HttpApp, { settings }: Pick<HttpOptions, "settings">): void {
  app.get("/", PAGE, async (request, reply) => {
    reply.header("vary", "Accept");
    if (!wantsPage(request)) return reply.redirect("docs");
    return sendPage(request, reply, consolePage(consoleFiles(), settings), CONSOLE_POLICY);
  });
  app.get("/docs", PAGE, async (request, reply) =>
    sendPage(request, reply, docsPage(docsFiles()), DOCS_POLICY),
  );
  const params = z.object({ version: z.string(), "*": z.string() });
  const file = { config: { access: "anyone" }, schema: { ...HIDDEN, params } } as const;
  app.get("/web/:version/*", file, async (request, reply) => {
    const { version, "*": path } = request.params;
    const found = [consoleFiles(), docsFiles()].find((page) => page.version === version)?.files.get(path);
    if (found === undefined) {
      throw new MucastError("not_found", "no page of this version has such a file; load the page again", {
        path: "URL",
      });
    }
    // Sending the largest of them takes a millisecond of the event loop.
    await loopTurns.next(addressKey(request.ip));
    reply.header("cache-control", FOREVER);
    return sendFile(request, reply, found);
  });
}

function once(read: () => WebFiles): () => WebFiles {
  let files: WebFiles | undefined;
  return () => {
    files ??= read();
    return files;
  };
}

/** Browsers accept HTML. A client that accepts JSON but not HTML, such as a program, does not want a page. */
function wantsPage({ headers: { accept = "" } }: FastifyRequest): boolean {
  return accept.includes("text/html") || !accept.includes("json");
}

function sendPage(request: FastifyRequest, reply: FastifyReply, text: string, policy: string): FastifyReply {
  reply.headers({ "content-security-policy": policy, "cache-control": "no-cache" });
  return sendFile(request, reply, webFile(WEB_TYPES.html, text));
}

function sendFile(request: FastifyRequest, reply: FastifyReply, { type, body, etag }: WebFile): FastifyReply {
  reply.header("etag", etag);
  if (!matchesNone(request.headers, etag)) return reply.code(304).send();
  return reply.type(type).send(body);
}
