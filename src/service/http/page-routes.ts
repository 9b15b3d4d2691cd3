import type { FastifyReply, FastifyRequest } from "fastify";
import { z } from "zod";
import { MucastError } from "../../contract/errors/errors.ts";
import { MUCAST_VERSION } from "../../contract/version.ts";
import { matchesNone } from "./conditional-requests.ts";
import type { HttpApp, HttpOptions } from "./http-app.ts";
import {
  CONSOLE_ENTRY,
  CONSOLE_ICON,
  CONSOLE_STYLES,
  readConsoleFiles,
  readDocsFiles,
  type WebFile,
  type WebFiles,
  webFile,
} from "./web-files.ts";

/** The name of a file has the hash of all files of its page, so it never changes. */
const FOREVER = "public, max-age=31536000, immutable";

/** The pages run only the service's own scripts, have no inline script or style, and make requests to no other origin. */
const OWN_FILES_ONLY =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
/** The console cannot turn text into HTML or script either: it cannot create a trusted type. */
const CONSOLE_POLICY = `${OWN_FILES_ONLY}; img-src 'self'; require-trusted-types-for 'script'; trusted-types 'none'`;
/** Swagger UI draws its icons from `data:` URLs. */
const DOCS_POLICY = `${OWN_FILES_ONLY}; img-src 'self' data:`;

let read: { readonly console: WebFiles; readonly docs: WebFiles } | undefined;

/** The files of both pages, read at the first request: most services of a test or a cluster show no page. */
function webPages() {
  read ??= { console: readConsoleFiles(), docs: readDocsFiles() };
  return read;
}

const PAGE = { config: { access: "anyone", isPage: true }, schema: { hide: true } } as const;

/**
 * `GET /`, the console, `GET /docs`, Swagger UI, and `GET /web/<version>/<path>`, the files of both. A program that requests `/` as
 * JSON is redirected to `/docs`.
 */
export function pageRoutes(app: HttpApp, { settings }: Pick<HttpOptions, "settings">): void {
  app.get("/", PAGE, async (request, reply) => {
    const { accept = "" } = request.headers;
    reply.header("vary", "Accept");
    if (accept.includes("json") && !accept.includes("text/html")) return reply.redirect("docs");
    reply.headers({ "content-security-policy": CONSOLE_POLICY, "cache-control": "no-cache" });
    return sendFile(request, reply, webFile("index.html", consolePage(webPages().console, settings.auth)));
  });
  app.get("/docs", PAGE, async (request, reply) => {
    reply.headers({ "content-security-policy": DOCS_POLICY, "cache-control": "no-cache" });
    return sendFile(request, reply, webFile("docs.html", docsPage(webPages().docs)));
  });
  const params = z.object({ version: z.string(), "*": z.string() });
  const file = { config: { access: "anyone" }, schema: { hide: true, params } } as const;
  app.get("/web/:version/*", file, async (request, reply) => {
    const { version, "*": path } = request.params;
    const found = Object.values(webPages())
      .find((page) => page.version === version)
      ?.files.get(path);
    if (found === undefined) {
      throw new MucastError("not_found", "no page of this version has such a file; load the page again", {
        path: "URL",
      });
    }
    reply.header("cache-control", FOREVER);
    return sendFile(request, reply, found);
  });
}

function sendFile(request: FastifyRequest, reply: FastifyReply, { type, body, etag }: WebFile): FastifyReply {
  reply.header("etag", etag);
  if (!matchesNone(request.headers, etag)) return reply.code(304).send();
  return reply.type(type).send(body);
}

/** A page with relative URLs, so that a proxy may serve it below a path. No part of it comes from a request. */
function page(title: string, head: readonly string[], body: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
${head.join("\n")}
</head>
${body}
</html>
`;
}

function consolePage({ files, version }: WebFiles, auth: string): string {
  const url = (path: string) => `web/${version}/${path}`;
  const modules = [...files.keys()].filter((path) => path.endsWith(".js") && path !== CONSOLE_ENTRY);
  return page(
    "mucast",
    [
      `<link rel="icon" type="image/svg+xml" href="${url(CONSOLE_ICON)}">`,
      ...CONSOLE_STYLES.map((style) => `<link rel="stylesheet" href="${url(style)}">`),
      `<script type="module" src="${url(CONSOLE_ENTRY)}"></script>`,
      ...modules.map((path) => `<link rel="modulepreload" href="${url(path)}">`),
    ],
    `<body data-auth="${auth}" data-version="${MUCAST_VERSION}">
<noscript><p>The console needs JavaScript. Without it, send requests with <code>curl</code>: <code>openapi.json</code> describes them.</p></noscript>
</body>`,
  );
}

/** Swagger UI on the OpenAPI document of the service, with forms that send requests. */
function docsPage({ version }: WebFiles): string {
  const url = (name: string) => `web/${version}/${name}`;
  return page(
    `mucast ${MUCAST_VERSION}`,
    [
      ...["swagger-ui.css", "docs.css"].map((name) => `<link rel="stylesheet" href="${url(name)}">`),
      ...["swagger-ui-bundle.js", "docs.js"].map((name) => `<script defer src="${url(name)}"></script>`),
    ],
    `<body>
<noscript><p>This page needs JavaScript. <a href="openapi.json">openapi.json</a> has the same text.</p></noscript>
<div id="docs"></div>
</body>`,
  );
}
