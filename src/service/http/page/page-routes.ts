import type { FastifyReply, FastifyRequest } from "fastify";
import { z } from "zod";
import { MucastError } from "../../../contract/errors/errors.ts";
import type { Settings } from "../../../contract/settings.ts";
import { MUCAST_VERSION } from "../../../contract/version.ts";
import { matchesNone } from "../server/conditional-requests.ts";
import type { HttpApp, HttpOptions } from "../server/http-app.ts";
import { CONSOLE_ENTRY, CONSOLE_ICON, CONSOLE_STYLES, readConsoleFiles } from "./console-files.ts";
import { readDocsFiles, WEB_TYPES, type WebFile, type WebFiles, webFile } from "./web-files.ts";

/** The name of a file has the hash of all files of its page, so it never changes. */
const FOREVER = "public, max-age=31536000, immutable";

/** Each page reads its files once, at the first request, since most services of a test or a cluster show no page. */
const consoleFiles = once(readConsoleFiles);
const docsFiles = once(readDocsFiles);

const HIDDEN = { hide: true } as const;
const PAGE = { config: { access: "anyone", isPage: true }, schema: HIDDEN } as const;

/**
 * `GET /`, the console, `GET /docs`, Swagger UI, and `GET /web/<version>/<path>`, the files of both. A program that requests `/` as
 * JSON is redirected to `/docs`.
 */
export function pageRoutes(app: HttpApp, { settings }: Pick<HttpOptions, "settings">): void {
  app.get("/", PAGE, async (request, reply) => {
    const { accept = "" } = request.headers;
    reply.header("vary", "Accept");
    if (accept.includes("json") && !accept.includes("text/html")) return reply.redirect("docs");
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

function sendPage(request: FastifyRequest, reply: FastifyReply, text: string, policy: string): FastifyReply {
  reply.headers({ "content-security-policy": policy, "cache-control": "no-cache" });
  return sendFile(request, reply, webFile(WEB_TYPES.html, text));
}

function sendFile(request: FastifyRequest, reply: FastifyReply, { type, body, etag }: WebFile): FastifyReply {
  reply.header("etag", etag);
  if (!matchesNone(request.headers, etag)) return reply.code(304).send();
  return reply.type(type).send(body);
}

/** The pages run only the service's own scripts, have no inline script or style, and make requests to no other origin. */
const OWN_FILES_ONLY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
];

/** The console cannot turn text into HTML or script either: it cannot create a trusted type. */
const CONSOLE_POLICY = [
  ...OWN_FILES_ONLY,
  "img-src 'self'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join("; ");

/** Swagger UI draws its icons from `data:` URLs. */
const DOCS_POLICY = [...OWN_FILES_ONLY, "img-src 'self' data:"].join("; ");

/** A page with relative URLs, so that a proxy may serve it below a path. No part of it comes from a request. */
function page(title: string, head: string, body: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
${head}
</head>
${body}
</html>
`;
}

/** The page of the console. */
function consolePage({ files, version }: WebFiles, { auth }: Pick<Settings, "auth">): string {
  const url = (path: string) => `web/${version}/${path}`;
  const modules = [...files.keys()].filter((path) => path.endsWith(".js") && path !== CONSOLE_ENTRY);
  return page(
    "mucast",
    [
      `<link rel="icon" type="image/svg+xml" href="${url(CONSOLE_ICON)}">`,
      ...CONSOLE_STYLES.map((style) => `<link rel="stylesheet" href="${url(style)}">`),
      `<script type="module" src="${url(CONSOLE_ENTRY)}"></script>`,
      ...modules.map((path) => `<link rel="modulepreload" href="${url(path)}">`),
    ].join("\n"),
    `<body data-auth="${auth}" data-version="${MUCAST_VERSION}">
<noscript><p>The console needs JavaScript. Without it, send requests with <code>curl</code>: <code>openapi.json</code> describes them.</p></noscript>
</body>`,
  );
}

/** The page `/docs`: Swagger UI on the OpenAPI document of the service, with forms that send requests. */
function docsPage({ version }: WebFiles): string {
  const url = (name: string) => `web/${version}/${name}`;
  return page(
    `mucast ${MUCAST_VERSION}`,
    `<link rel="stylesheet" href="${url("swagger-ui.css")}">
<link rel="stylesheet" href="${url("docs.css")}">
<script defer src="${url("swagger-ui-bundle.js")}"></script>
<script defer src="${url("docs.js")}"></script>`,
    `<body>
<noscript><p>This page needs JavaScript. <a href="openapi.json">openapi.json</a> has the same text.</p></noscript>
<div id="docs"></div>
</body>`,
  );
}
