import { readFileSync } from "node:fs";
import { IS_CLONE, SOURCES, WEB_TYPES, type WebFiles, webFile, webFiles } from "./web-files.ts";

/**
 * Swagger UI, as `@fastify/swagger-ui` packages it. `npm run build` copies these files into the package, so that a user installs
 * neither the plugin nor its dependencies.
 */
export const SWAGGER_FILES = ["swagger-ui.css", "swagger-ui-bundle.js"] as const;

const SWAGGER = new URL(
  IS_CLONE ? "../node_modules/@fastify/swagger-ui/static/" : "../web/swagger-ui/",
  SOURCES,
);
const OWN = new URL("../web/", SOURCES);

/** Starts Swagger UI with the document of the service. */
export const DOCS_SCRIPT = "docs.js";
export const DOCS_STYLE = "docs.css";

/** Reads the scripts and styles of the page `/docs`. */
export function readSwaggerFiles(): WebFiles {
  const from = (folder: URL) => (name: string) =>
    [name, webFile(typeOf(name), readFileSync(new URL(name, folder)))] as const;
  return webFiles(
    new Map([...SWAGGER_FILES.map(from(SWAGGER)), ...[DOCS_STYLE, DOCS_SCRIPT].map(from(OWN))]),
  );
}

function typeOf(name: string): string {
  return name.endsWith(".css") ? WEB_TYPES.css : WEB_TYPES.js;
}
