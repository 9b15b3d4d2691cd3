import type { FastifyReply, FastifyRequest } from "fastify";
import { redactUrl } from "../../../blob/policy.ts";
import type { HttpOptions } from "./http-app.ts";

const MAX_LOGGED_PATH_LENGTH = 200;

/** Without secrets; for a route with a secret in its path, its pattern. */
function loggedPath({ raw, is404, routeOptions }: FastifyRequest): string {
  if (routeOptions.config?.hasSecretPath) return routeOptions.url!;
  return (is404 ? redactPath : redactUrl)(raw.url!).slice(0, MAX_LOGGED_PATH_LENGTH);
}

/**
 * Records a request in traces and metrics, and logs one line when its answer has ended or its connection has closed. The line has
 * route and path, but never the query or headers, which may contain secrets.
 */
export function recordRequest(
  request: FastifyRequest,
  reply: FastifyReply,
  options: Pick<HttpOptions, "log" | "telemetry">,
): void {
  const startedAt = performance.now();
  const { method, raw } = request;
  const traceparent = raw.headers.traceparent;
  const watched = options.telemetry.requestStarted({
    method,
    traceparent: typeof traceparent === "string" ? traceparent : undefined,
  });
  request.watched = watched;
  reply.raw.once("close", () => {
    const route = request.is404 ? undefined : request.routeOptions.url;
    const { statusCode: status, writableFinished } = reply.raw;
    const { problemCode: code, caller, operationId } = request;
    watched.ended({ route, status, code });
    options.log.info(
      {
        method,
        route,
        path: loggedPath(request),
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

/** The text after it is the token of a link: the path may have the folder of a proxy before it. */
const SECRET_PATH = /((?:\/|%2f)reports(?:\/|%2f)+).+/i;
/** As long as a token, whatever is before and after it, with or without percent-encoding. */
const LONG_TEXT = /(?:%[0-9a-f]{2}|[\w-]){43,}/gi;

/**
 * A path that has no route, without its query and without anything that may be the token of a link to a report: a pasted link can be
 * misspelt or have more text around it.
 */
export function redactPath(url: string): string {
  return redactUrl(url).replace(SECRET_PATH, "$1…").replaceAll(LONG_TEXT, "…");
}
