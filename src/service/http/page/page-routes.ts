import { readFileSync } from "node:fs";
import type { OpenApiDocument } from "../openapi/document.ts";
import { EXAMPLE_BLOBS, EXAMPLE_NAMES } from "../openapi/examples.ts";
import { problemAnswers } from "../openapi/route-docs.ts";
import { addressKey } from "../server/address-key.ts";
import type { HttpApp, HttpOptions } from "../server/http-app.ts";
import { publicOrigin } from "../server/public-origin.ts";
import { docsPage, PAGE_POLICY } from "./docs-page.ts";
import { KeptPages } from "./kept-pages.ts";

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

function documentRoute(app: HttpApp, { settings }: PageOptions): void {
  const document = new KeptPages((origin) => JSON.stringify(documentFor(origin, app)));
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
    handler: async (request, reply) =>
      reply
        .type("application/json; charset=utf-8")
        .send(await document.for(publicOrigin(settings, request), addressKey(request.ip))),
  });
}

function docsRoute(app: HttpApp, { settings }: PageOptions): void {
  const docs = new KeptPages((origin) => docsPage(documentFor(origin, app), settings));
  const page = { config: { access: "anyone", isPage: true }, schema: { hide: true } } as const;
  app.get("/docs", page, async (request, reply) => {
    const text = await docs.for(publicOrigin(settings, request), addressKey(request.ip));
    return reply.header("content-security-policy", PAGE_POLICY).type("text/html; charset=utf-8").send(text);
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
function documentFor(origin: string, app: HttpApp): OpenApiDocument {
  const general = JSON.stringify(app.swagger());
  // A caller's blobs have this origin in URLs, also where the store is an Azure container.
  const document: OpenApiDocument = JSON.parse(general.replaceAll(EXAMPLE_BLOBS, origin));
  return { ...document, servers: [{ url: origin }] };
}
