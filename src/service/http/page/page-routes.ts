import type { FastifyRequest } from "fastify";
import type { OpenApiDocument } from "../openapi/document.ts";
import { EXAMPLE_BLOBS } from "../openapi/examples.ts";
import { problemAnswers } from "../openapi/route-docs.ts";
import type { HttpApp, HttpOptions } from "../server/http-app.ts";
import { publicOrigin } from "../server/public-origin.ts";
import { docsPage, PAGE_POLICY } from "./docs-page.ts";

type PageOptions = Pick<HttpOptions, "settings">;

/** `/openapi.json`, the page `/docs`, and `/`, which leads there. */
export function pageRoutes(app: HttpApp, options: PageOptions): void {
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
  const page = { config: { access: "anyone", isPage: true }, schema: { hide: true } } as const;
  app.get("/", page, async (_request, reply) => reply.redirect("docs"));
  app.get("/docs", page, async (request, reply) => {
    const document = documentFor(request, app, options);
    reply.header("content-security-policy", PAGE_POLICY).type("text/html; charset=utf-8");
    return docsPage(document, options.settings);
  });
}

/** The document with this service in it, so that its examples work as they stand. */
function documentFor(request: FastifyRequest, app: HttpApp, options: PageOptions): OpenApiDocument {
  const general = JSON.stringify(app.swagger());
  const origin = publicOrigin(options.settings, request);
  // Under which every caller's own blobs are known, wherever they lie.
  const document: OpenApiDocument = JSON.parse(general.replaceAll(EXAMPLE_BLOBS, origin));
  return { ...document, servers: [{ url: origin }] };
}
