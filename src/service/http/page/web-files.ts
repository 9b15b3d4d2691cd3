import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";

/** A file that a page loads, as the service sends it. */
export interface WebFile {
  /** Its media type. */
  readonly type: string;
  readonly body: Buffer;
  /** A strong entity tag. */
  readonly etag: string;
}

/** The files of one page. */
export interface WebFiles {
  /** By path below `/web/<version>/`, such as `console/main.js`. */
  readonly files: ReadonlyMap<string, WebFile>;
  /** Hash of all files. It is part of their URLs, so that a browser caches them and never mixes two versions. */
  readonly version: string;
}

/** `src/`, or `dist/` in the package. */
export const SOURCES = new URL("../../../", import.meta.url);
/** The package contains compiled modules. In a clone, the service runs the sources. */
export const IS_CLONE = import.meta.url.endsWith(".ts");

export const WEB_TYPES = {
  html: "text/html; charset=utf-8",
  css: "text/css; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  json: "application/json",
  svg: "image/svg+xml",
} as const;

export function webFile(type: string, content: string | Buffer): WebFile {
  const body = Buffer.from(content);
  return { type, body, etag: `"${createHash("sha256").update(body).digest("base64url")}"` };
}

export function webFiles(files: ReadonlyMap<string, WebFile>): WebFiles {
  const hash = createHash("sha256");
  for (const [path, { etag }] of files) hash.update(`${path}\0${etag}\0`);
  return { files, version: hash.digest("hex").slice(0, 16) };
}

/**
 * Swagger UI, as `@fastify/swagger-ui` packages it. `npm run build` copies these files into the package, so that a user installs
 * neither the plugin nor its dependencies.
 */
export const SWAGGER_FILES = ["swagger-ui.css", "swagger-ui-bundle.js"] as const;

/** Reads the scripts and styles of the page `/docs`: Swagger UI, and what starts it with the document of the service. */
export function readDocsFiles(): WebFiles {
  const web = new URL("../web/", SOURCES);
  const packed = new URL("../node_modules/@fastify/swagger-ui/static/", SOURCES);
  const swagger = IS_CLONE ? packed : new URL("swagger-ui/", web);
  const read = (name: string, folder: URL) => {
    const type = name.endsWith(".css") ? WEB_TYPES.css : WEB_TYPES.js;
    return [name, webFile(type, readFileSync(new URL(name, folder)))] as const;
  };
  return webFiles(
    new Map([
      ...SWAGGER_FILES.map((name) => read(name, swagger)),
      read("docs.css", web),
      read("docs.js", web),
    ]),
  );
}
