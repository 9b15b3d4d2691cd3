import { z } from "zod";
import { API_OPERATIONS } from "../../../contract/api/operations.ts";
import { REPORT_POLICY } from "../../../report/page/page-policy.ts";
import { matchesNone } from "../blobs/conditional-requests.ts";
import { emptyAnswer, problemAnswers } from "../openapi/route-docs.ts";
import type { HttpApp, HttpOptions } from "../server/http-app.ts";
import { requestAbort } from "../server/request-abort.ts";
import { discardBodies } from "../server/request-bodies.ts";

/** A report has an origin of its own: its script reaches nothing of this service. */
const PAGE_HEADERS = {
  "content-security-policy": `${REPORT_POLICY}; sandbox allow-scripts; frame-ancestors 'none'`,
  "content-type": "text/html; charset=utf-8",
};

const ETAG = { type: "string", description: "Of the output and the version of mucast." } as const;

/** `GET /v1/operations/{id}/report`. */
export function reportRoutes(app: HttpApp, options: HttpOptions, closing: AbortSignal): void {
  discardBodies(app);
  app.route({
    method: ["GET", "HEAD"],
    url: "/v1/operations/:id/report",
    config: { access: "read" },
    schema: reportDocs(),
    handler: async (request, reply) => {
      const { id } = request.params;
      request.operationId = id;
      const caller = request.caller!;
      const found = await options.reports.find(caller, await options.operations.get(caller, id));
      reply.headers({ etag: found.etag, "cache-control": "private, no-cache" });
      if (!matchesNone(request.headers, found.etag)) return reply.code(304).send();
      reply.headers(PAGE_HEADERS);
      if (request.method === "HEAD") return reply.send();
      // Drawing may take longer than a connection may be idle, and has a time limit of its own.
      request.raw.socket.setTimeout(0);
      return reply.send(await options.reports.page(caller, found, requestAbort(reply, closing)));
    },
  });
}

function reportDocs() {
  return {
    operationId: "get_report",
    summary: "What the output of an operation is worth, as a page",
    description:
      "Of a run_ml_job or run_dl_job that Succeeded: the HTML page that `mucast report` draws of its output, which needs no network. " +
      "It is drawn once and then kept for a while. A browser shows it without any right to this service.",
    tags: ["Operations"],
    params: API_OPERATIONS.get_operation.input,
    headers: z.looseObject({
      "if-none-match": z.string().optional().describe("Another page than this, or 304."),
    }),
    response: {
      200: {
        description: "The page.",
        headers: { ETag: ETAG },
        content: { "text/html": { schema: { type: "string" } } },
      },
      304: emptyAnswer("It is still the page of `If-None-Match`.", { ETag: ETAG }),
      ...problemAnswers("read", [
        "not_found",
        "no_result",
        "other_result",
        "blob_unavailable",
        "unreadable_blob",
        "invalid_data",
        "too_large",
        "timed_out",
        "process_lost",
      ]),
    },
  };
}
