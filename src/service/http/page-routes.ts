import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { stripTypeScriptTypes } from "node:module";
import type { FastifyReply, FastifyRequest } from "fastify";
import { z } from "zod";
import { prepareQuery } from "../../contract/api/prepared-blobs.ts";
import type { FormSchemas, ModelParameter } from "../../contract/api/published-schemas.ts";
import { EXAMPLE_CONFIGS } from "../../contract/config/example-configs.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import { type Parameter, parametersOf, typesText } from "../../contract/model-params/catalogue.ts";
import { findModel, MODEL_NAMES, MODELS, type Model } from "../../contract/model-params/models.ts";
import { asksForGpu, refusalReason } from "../../contract/model-params/refused-arguments.ts";
import { MUCAST_VERSION } from "../../contract/version.ts";
import { matchesNone } from "./conditional-requests.ts";
import type { HttpApp, HttpOptions } from "./http-app.ts";
import { JOB_PAYLOADS } from "./operation-routes.ts";

/** The pages run only the service's own scripts, have no inline script or style, and make requests to no other origin. */
const OWN_FILES_ONLY =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
/** The console cannot turn text into HTML or script either: it cannot create a trusted type. */
const CONSOLE_POLICY = `${OWN_FILES_ONLY}; img-src 'self'; require-trusted-types-for 'script'; trusted-types 'none'`;
/** Swagger UI draws its icons from `data:` URLs. */
const DOCS_POLICY = `${OWN_FILES_ONLY}; img-src 'self' data:`;

let pages: { readonly console: WebFiles; readonly docs: WebFiles } | undefined;

/** Reads their files at the first request: most services of a test or a cluster show no page. */
function readPages() {
  pages ??= { console: readConsoleFiles(), docs: readDocsFiles() };
  return pages;
}

const PAGE = { config: { access: "anyone", isPage: true }, schema: { hide: true } } as const;

/** `GET /`, the console, `GET /docs`, Swagger UI, and `GET /web/<version>/<path>`, the files of both. */
export function pageRoutes(app: HttpApp, { settings }: Pick<HttpOptions, "settings">): void {
  app.get("/", PAGE, async (request, reply) => {
    const { accept = "" } = request.headers;
    reply.header("vary", "Accept");
    if (accept.includes("json") && !accept.includes("text/html")) return reply.redirect("docs");
    reply.headers({ "content-security-policy": CONSOLE_POLICY, "cache-control": "no-cache" });
    return sendFile(request, reply, webFile("index.html", consolePage(readPages().console, settings.auth)));
  });
  app.get("/docs", PAGE, async (request, reply) => {
    reply.headers({ "content-security-policy": DOCS_POLICY, "cache-control": "no-cache" });
    return sendFile(request, reply, webFile("docs.html", docsPage(readPages().docs)));
  });
  const params = z.object({ version: z.string(), "*": z.string() });
  const file = { config: { access: "anyone" }, schema: { hide: true, params } } as const;
  app.get("/web/:version/*", file, async (request, reply) => {
    const { version, "*": path } = request.params;
    const { console, docs } = readPages();
    const found = [console, docs].find((page) => page.version === version)?.files.get(path);
    if (found === undefined) {
      const message = "no page of this version has such a file; load the page again";
      throw new MucastError("not_found", message, { path: "URL" });
    }
    reply.header("cache-control", "public, max-age=31536000, immutable");
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

/** `src/`, or `dist/` in the package. */
const SOURCES = new URL("../../", import.meta.url);
const WEB = new URL("../web/", SOURCES);
/** The package contains compiled modules. In a clone, the service runs the sources. */
const IS_CLONE = import.meta.url.endsWith(".ts");

const TYPES: Readonly<Record<string, string>> = {
  html: "text/html; charset=utf-8",
  css: "text/css; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  json: "application/json",
  svg: "image/svg+xml",
};

function webFile(name: string, content: string | Buffer) {
  const body = Buffer.from(content);
  const etag = `"${createHash("sha256").update(body).digest("base64url")}"`;
  return { type: TYPES[name.split(".").at(-1)!]!, body, etag };
}

type WebFile = ReturnType<typeof webFile>;

/** The files of one page by path. The version is their hash, so that a browser caches them and never mixes two versions. */
function webFiles(files: ReadonlyMap<string, WebFile>) {
  const hash = createHash("sha256");
  for (const [path, { etag }] of files) hash.update(`${path}\0${etag}\0`);
  return { files, version: hash.digest("hex").slice(0, 16) };
}

type WebFiles = ReturnType<typeof webFiles>;

/** `npm run build` copies them from `@fastify/swagger-ui`, so that a user installs neither the plugin nor its dependencies. */
export const SWAGGER_FILES = ["swagger-ui.css", "swagger-ui-bundle.js"] as const;

function readDocsFiles(): WebFiles {
  const packed = new URL("../node_modules/@fastify/swagger-ui/static/", SOURCES);
  const swagger = IS_CLONE ? packed : new URL("swagger-ui/", WEB);
  const others = readFiles(["docs.css", "docs.js"], WEB);
  return webFiles(new Map([...readFiles(SWAGGER_FILES, swagger), ...others]));
}

function readFiles(names: readonly string[], folder: URL): [string, WebFile][] {
  return names.map((name) => [name, webFile(name, readFileSync(new URL(name, folder)))]);
}

const CONSOLE_ENTRY = "console/main.js";
/** Colours and marks of charts are those of the reports too. */
const CONSOLE_STYLES = ["charts.css", "console.css", "console-forms.css", "console-run.css"] as const;
const CONSOLE_ICON = "console.svg";
export const CONSOLE_FORMS = "console/forms/forms.json";

const PACKAGES: Readonly<Record<string, string>> = {
  preact: "packages/preact.js",
  "preact/hooks": "packages/preact-hooks.js",
  htm: "packages/htm.js",
};

/** The console: the modules that its entry reaches by static imports, its styles, its icon and the schemas of its forms. */
export function readConsoleFiles(): WebFiles {
  const modules = new Map<string, WebFile>();
  addModules(CONSOLE_ENTRY, modules);
  const others = readFiles([...CONSOLE_STYLES, CONSOLE_ICON], WEB);
  const forms = webFile(CONSOLE_FORMS, formSchemasText());
  return webFiles(new Map([...modules, ...others, [CONSOLE_FORMS, forms]]));
}

const IMPORTED = /(?<=^(?:import|export)\b[^;"]*?\bfrom\s*"|^import\s*")[^"]+(?=")/gm;

/** @param path of a module as the browser loads it. @param name of the package that it is. */
function addModules(path: string, files: Map<string, WebFile>, name?: string): void {
  if (files.has(path)) return;
  const own = new URL(IS_CLONE ? path.replace(/\.js$/, ".ts") : path, SOURCES);
  const source = readFileSync(name === undefined ? own : new URL(import.meta.resolve(name)), "utf8");
  const imports: [url: string, name?: string][] = [];
  const text = (IS_CLONE && name === undefined ? withoutTypes(source) : source).replaceAll(
    IMPORTED,
    (target) => {
      const inPackage = Object.hasOwn(PACKAGES, target);
      if (!inPackage && !target.startsWith("."))
        throw new Error(`${path} imports ${target}, which no browser has`);
      const root = "../".repeat(path.split("/").length - 1);
      const url = inPackage ? `${root}${PACKAGES[target]}` : target.replace(/\.ts$/, ".js");
      imports.push(inPackage ? [url, target] : [url]);
      return url;
    },
  );
  files.set(path, webFile(path, text));
  for (const [url, of] of imports) addModules(new URL(url, `file:///${path}`).pathname.slice(1), files, of);
}

/** Node warns at the first use that its function may change, and that warning does not belong in the log of the service. */
function withoutTypes(source: string): string {
  const { emitWarning } = process;
  process.emitWarning = () => undefined;
  try {
    return stripTypeScriptTypes(source);
  } finally {
    process.emitWarning = emitWarning;
  }
}

export function formSchemasText(): string {
  const write = (schema: z.ZodType) => z.toJSONSchema(schema, { io: "input" });
  const payloads = Object.entries(JOB_PAYLOADS).map(([name, schema]) => [name, write(schema)]);
  const schemas: FormSchemas = {
    payloads: Object.fromEntries(payloads),
    prepare: z.toJSONSchema(prepareQuery),
    models: Object.fromEntries(MODEL_NAMES.map((name) => [name, findModel(name).name])),
    parameters: Object.fromEntries(MODELS.map((model) => [model.name, listParameters(model)])),
    examples: EXAMPLE_CONFIGS,
  };
  return JSON.stringify(schemas);
}

function listParameters({ name, library }: Model): ModelParameter[] {
  const isOffered = ({ name: argument }: Parameter) =>
    refusalReason(library, argument, argument, false) === undefined &&
    !asksForGpu(library, argument, "any value", false);
  return [...parametersOf(name).byName.values()].filter(isOffered).map((parameter) => ({
    name: parameter.name,
    takes: parameter.types === undefined ? "" : typesText(parameter.types),
    choices: parameter.choices ?? [],
    byDefault: parameter.default === null ? null : JSON.stringify(parameter.default),
  }));
}
