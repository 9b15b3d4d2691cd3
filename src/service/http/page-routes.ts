import type { HttpApp } from "./http-app.ts";
import type { HttpOptions } from "./http-options.ts";
import type { OpenApiDocument } from "./openapi.ts";
import { blobBase, ownOrigin } from "./own-origin.ts";
import { docsPage, PAGE_POLICY } from "./page/docs-page.ts";
import { problemAnswers } from "./route-docs.ts";

/** `/openapi.json`, the page `/docs`, and `/`, which leads there. */
export function pageRoutes(app: HttpApp, options: Pick<HttpOptions, "settings" | "store">): void {
  const { settings } = options;
  const documentFor = (origin: string): OpenApiDocument => ({
    ...(app.swagger() as unknown as OpenApiDocument),
    servers: [{ url: origin }],
  });
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
    handler: async (request) => documentFor(ownOrigin(settings, request)),
  });
  const page = { config: { access: "anyone", isPage: true }, schema: { hide: true } } as const;
  app.get("/", page, async (_request, reply) => reply.redirect("docs"));
  app.get("/docs", page, async (request, reply) => {
    const origin = ownOrigin(settings, request);
    const document = documentFor(origin);
    reply.header("content-security-policy", PAGE_POLICY).type("text/html; charset=utf-8");
    return docsPage({ document, origin, blobUrl: blobBase(options, request), settings });
  });
}
