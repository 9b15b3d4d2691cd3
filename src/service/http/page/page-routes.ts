import { readFileSync } from "node:fs";
import type { FastifyRequest } from "fastify";
import type { OpenApiDocument } from "../openapi/document.ts";
import { EXAMPLE_BLOBS, EXAMPLE_NAMES } from "../openapi/examples.ts";
import { problemAnswers } from "../openapi/route-docs.ts";
import type { HttpApp, HttpOptions } from "../server/http-app.ts";
import { publicOrigin } from "../server/public-origin.ts";
import { docsPage, PAGE_POLICY } from "./docs-page.ts";

type PageOptions = Pick<HttpOptions, "settings">;

/** Four folders up, both from src and from the compiled package. */
const EXAMPLES = new URL("../../../../examples/tiny/data/", import.meta.url);

/**
 * `GET /openapi.json`, the page `GET /docs`, and `GET /examples/<name>`, the blobs that the curl lines of the page and of
 * `mucast serve` upload.
 */
export function pageRoutes(app: HttpApp, options: PageOptions): void {
  documentRoute(app, options);
  docsRoute(app, options);
  exampleRoutes(app);
}

function documentRoute(app: HttpApp, options: PageOptions): void {
  app.route({
    method: "GET",
    url: "/openapi.json",
    config: { access: "anyone" },
    schema: {
      operationId: "openapi",
      summary: "This document",
      description: "OpenAPI 3.1, with this service as its server.",
      tags: ["Service"],
      response: {
        200: {
          description: "The document.",
          content: { "application/json": { schema: { type: "object" } } },
        },
        ...problemAnswers("anyone"),
      },
    },
    handler: async (request) => documentFor(request, app, options),
  });
}

function docsRoute(app: HttpApp, options: PageOptions): void {
  const page = { config: { access: "anyone", isPage: true }, schema: { hide: true } } as const;
  app.get("/docs", page, async (request, reply) => {
    const document = documentFor(request, app, options);
    reply.header("content-security-policy", PAGE_POLICY).type("text/html; charset=utf-8");
    return docsPage(document, options.settings);
  });
}

function exampleRoutes(app: HttpApp): void {
  for (const name of EXAMPLE_NAMES) {
    const bytes = readFileSync(new URL(name, EXAMPLES));
    app.route({
      method: "GET",
      url: `/examples/${name}`,
      config: { access: "anyone" },
      schema: { hide: true },
      handler: async (_request, reply) => reply.type("application/json").send(bytes),
    });
  }
}

/** The document with the origin of this service, so that a reader can run its examples without a change. */
function documentFor(request: FastifyRequest, app: HttpApp, options: PageOptions): OpenApiDocument {
  const general = JSON.stringify(app.swagger());
  const origin = publicOrigin(options.settings, request);
  // A caller's blobs have this origin in URLs, also where the store is an Azure container.
  const document: OpenApiDocument = JSON.parse(general.replaceAll(EXAMPLE_BLOBS, origin));
  return { ...document, servers: [{ url: origin }] };
}
