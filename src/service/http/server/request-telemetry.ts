import type { FastifyReply, FastifyRequest } from "fastify";
import { redactUrl } from "../../../blob/policy.ts";
import type { HttpOptions } from "./http-app.ts";

const MAX_LOGGED_PATH_LENGTH = 200;

/**
 * Records a request in traces and metrics, and logs one line when its answer has ended or its connection has closed. The line never has
 * the query or headers, which may contain secrets, nor a path that has no route: it may be a mistyped link to a report.
 */
export function recordRequest(
  request: FastifyRequest,
  reply: FastifyReply,
  { log, telemetry }: Pick<HttpOptions, "log" | "telemetry">,
): void {
  const startedAt = performance.now();
  const { method, headers, is404, raw } = request;
  const { url, config } = request.routeOptions;
  const route = is404 ? undefined : url;
  const { traceparent } = headers;
  const watched = telemetry.requestStarted({
    method,
    traceparent: typeof traceparent === "string" ? traceparent : undefined,
  });
  request.watched = watched;
  reply.raw.once("close", () => {
    const { statusCode: status, writableFinished } = reply.raw;
    const { problemCode: code, caller, operationId } = request;
    watched.ended({ route, status, code });
    const path = config?.hasSecretPath ? route : redactUrl(raw.url!).slice(0, MAX_LOGGED_PATH_LENGTH);
    log.info(
      {
        method,
        ...(route === undefined ? {} : { route, path }),
        status,
        ms: Math.round(performance.now() - startedAt),
        ...(operationId === undefined ? {} : { operation_id: operationId }),
        ...(code === undefined ? {} : { code }),
        ...(caller === undefined ? {} : { caller: caller.subject }),
        ...(writableFinished ? {} : { aborted: true }),
      },
      "request",
    );
  });
}
