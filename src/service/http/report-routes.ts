import type { FastifyRequest } from "fastify";
import { z } from "zod";
import {
  comparedOperationsSchema,
  type ReportLink,
  reportLinkSchema,
} from "../../contract/api/operation-view.ts";
import { API_OPERATIONS } from "../../contract/api/operations.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import { REPORT_POLICY } from "../../report/page-policy.ts";
import { matchesNone } from "./conditional-requests.ts";
import { emptyAnswer, header, jsonAnswer } from "./document.ts";
import { EXAMPLE_BLOBS } from "./examples.ts";
import { acceptBodies, type HttpApp, type HttpOptions } from "./http-app.ts";

/** A report has a separate origin: its script cannot access this service. */
const POLICY = `${REPORT_POLICY}; sandbox allow-scripts; frame-ancestors 'none'`;
const HTML = "text/html; charset=utf-8";

const ifNoneMatch = z.string().optional().describe("Returns a page other than this one, or 304.");
const HEADERS = { ETag: header("Identifies the output and the version and commit of mucast.") };

const PROBLEMS = ["not_found", "no_result", "other_result", "blob_unavailable", "too_large"] as const;
const DRAWING_PROBLEMS = ["unreadable_blob", "invalid_data", "timed_out", "process_lost"] as const;

const LINK: ReportLink = {
  url: `${EXAMPLE_BLOBS}/reports/RHEqWv0yRr8cZ5c9p1nR5uQ2yqFz4Jm0bV3eX7tLk1s`,
  expires_at: "2026-01-05T08:31:00.000Z",
};
const LINK_ANSWERS = { 200: jsonAnswer("The link.", reportLinkSchema, LINK) };

export function reportRoutes(app: HttpApp, { operations, reports, reportLinks }: HttpOptions): void {
  acceptBodies(app, "discard");

  async function findAll(request: FastifyRequest, ids: readonly string[]) {
    request.operationId = ids[0];
    return reports.find(
      request.caller!,
      await Promise.all(ids.map((id) => operations.get(request.caller!, id))),
    );
  }

  async function createLink(request: FastifyRequest, ids: readonly string[]): Promise<ReportLink> {
    await findAll(request, ids);
    const { token, expiresAt } = await reportLinks.create(request.caller!, ids);
    return { url: `${request.publicOrigin}/reports/${token}`, expires_at: expiresAt.toISOString() };
  }

  app.route({
    method: ["GET", "HEAD"],
    url: "/v1/operations/:id/report",
    config: { access: "read", problems: [...PROBLEMS, ...DRAWING_PROBLEMS] },
    schema: {
      operationId: "get_report",
      summary: "Get the report of an operation as HTML",
      description:
        "For a run_ml_job or run_dl_job that Succeeded: the HTML page that `mucast report` writes about its output. The page needs no network. " +
        "It is made once and then cached for a while. A browser shows it without any access to this service.",
      tags: ["Operations"],
      params: API_OPERATIONS.get_operation.input,
      headers: z.looseObject({ "if-none-match": ifNoneMatch }),
      response: {
        200: {
          description: "The page.",
          headers: HEADERS,
          content: { "text/html": { schema: { type: "string" } } },
        },
        304: emptyAnswer("The page is still the one of `If-None-Match`.", HEADERS),
      },
    },
    handler: async (request, reply) => {
      const found = await findAll(request, [request.params.id]);
      // A 304 has the policy as well: a browser uses the headers of a 304 for its cached page (RFC 9111, 3.2).
      const { etag } = found;
      const headers = { "content-security-policy": POLICY, etag, "cache-control": "private, no-cache" };
      if (!matchesNone(request.headers, etag)) return reply.code(304).headers(headers).send();
      const page = request.method === "HEAD" ? undefined : await reports.page(found, reply.abortSignal());
      return reply.headers(headers).type(HTML).send(page);
    },
  });
  app.route({
    method: "POST",
    url: "/v1/operations/:id/report-link",
    config: { access: "read", problems: PROBLEMS },
    schema: {
      operationId: "create_report_link",
      summary: "Create a link that opens the report once",
      description:
        "For browsers, which send no key when they open a page. The URL needs no credentials and works once, within a minute, on every " +
        "service of this database. It opens the page of get_report. No body is needed.",
      tags: ["Operations"],
      params: API_OPERATIONS.get_operation.input,
      response: LINK_ANSWERS,
    },
    handler: (request) => createLink(request, [request.params.id]),
  });
  app.route({
    method: "POST",
    url: "/v1/report-link",
    config: { access: "read", problems: PROBLEMS },
    schema: {
      operationId: "create_comparison_link",
      summary: "Create a link that opens a report of several operations once",
      description:
        "Like create_report_link, for the page that `mucast report` writes about several outputs: it compares them side by side on the rows " +
        "that all of them have. All operations are the caller's, each a run_ml_job or run_dl_job that Succeeded.",
      tags: ["Operations"],
      querystring: comparedOperationsSchema,
      response: LINK_ANSWERS,
    },
    handler: (request) => createLink(request, request.query.id),
  });
  // Not in the document: a caller has the URL from one of the routes above.
  app.route({
    method: ["GET", "HEAD"],
    url: "/reports/:token",
    config: { access: "anyone", isPage: true, hasSecretPath: true },
    schema: { hide: true, params: z.strictObject({ token: z.string() }) },
    handler: async (request, reply) => {
      // The first is the standard; older browsers send one of the others.
      const purposes = ["sec-purpose", "purpose", "x-purpose", "x-moz"].map((name) => request.headers[name]);
      if (/prefetch|prerender|preview/i.test(purposes.join())) {
        const message = "the link opens a report once, so it is not fetched beforehand";
        throw new MucastError("unavailable", message, { path: "Sec-Purpose", retryAfter: 1 });
      }
      const { token } = request.params;
      const { caller, operationIds } = await reportLinks.find(token);
      request.caller = caller;
      const found = await findAll(request, operationIds);
      const page = request.method === "HEAD" ? undefined : await reports.page(found, reply.abortSignal());
      if (page !== undefined) await reportLinks.use(token);
      return reply.header("content-security-policy", POLICY).type(HTML).send(page);
    },
  });
}
