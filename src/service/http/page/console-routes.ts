import { createHash } from "node:crypto";
import type { FastifyReply, FastifyRequest } from "fastify";
import { z } from "zod";
import { MucastError } from "../../../contract/errors/errors.ts";
import { matchesNone } from "../server/conditional-requests.ts";
import type { HttpApp, HttpOptions } from "../server/http-app.ts";
import { type ConsoleFile, type ConsoleFiles, readConsoleFiles } from "./console-files.ts";
import { CONSOLE_POLICY, consolePage } from "./console-page.ts";

/** The name of a file has the hash of all files, so it never changes. */
const FOREVER = "public, max-age=31536000, immutable";

let read: ConsoleFiles | undefined;

/** Reads them once, at the first request, since most services of a test or a cluster show no page. */
function consoleFiles(): ConsoleFiles {
  read ??= readConsoleFiles();
  return read;
}

/** `GET /`, the console, and `GET /web/<version>/<path>`, its files. A program that requests `/` as JSON is redirected to `/docs`. */
export function consoleRoutes(app: HttpApp, { settings }: Pick<HttpOptions, "settings">): void {
  const hidden = { hide: true } as const;
  const page = { config: { access: "anyone", isPage: true }, schema: hidden } as const;
  app.get("/", page, async (request, reply) => {
    reply.header("vary", "Accept");
    if (!wantsPage(request)) return reply.redirect("docs");
    reply.headers({ "content-security-policy": CONSOLE_POLICY, "cache-control": "no-cache" });
    const text = consolePage(consoleFiles(), settings);
    return answerFile(request, reply, { type: "text/html; charset=utf-8", text });
  });
  const params = z.object({ version: z.string(), "*": z.string() });
  const file = { config: { access: "anyone" }, schema: { ...hidden, params } } as const;
  app.get("/web/:version/*", file, async (request, reply) => {
    const { files, version } = consoleFiles();
    const found = request.params.version === version ? files.get(request.params["*"]) : undefined;
    if (found === undefined) {
      throw new MucastError(
        "not_found",
        "the console of this version has no such file; load the page again",
        {
          path: "URL",
        },
      );
    }
    reply.header("cache-control", FOREVER);
    return answerFile(request, reply, found);
  });
}

/** Browsers accept HTML. A client that accepts JSON but not HTML, such as a program, does not want a page. */
function wantsPage({ headers: { accept = "" } }: FastifyRequest): boolean {
  return accept.includes("text/html") || !accept.includes("json");
}

function answerFile(request: FastifyRequest, reply: FastifyReply, { type, text }: ConsoleFile): FastifyReply {
  const etag = `"${createHash("sha256").update(text).digest("base64url")}"`;
  reply.header("etag", etag);
  if (!matchesNone(request.headers, etag)) return reply.code(304).send();
  return reply.type(type).send(text);
}
