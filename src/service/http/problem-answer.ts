import { randomUUID } from "node:crypto";
import type { FastifyReply, FastifyRequest } from "fastify";
import { withoutSignature } from "../../blob/policy.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import { type Problem, problemOf } from "../../contract/problems/problem.ts";
import type { HttpOptions } from "./http-app.ts";

export const PROBLEM_TYPE = "application/problem+json";

/** Where MCP clients find the OIDC issuer (RFC 9728). */
export const METADATA_PATH = "/.well-known/oauth-protected-resource";

/** The errors of Fastify that are faults of a request; any other is a defect. */
const FASTIFY_FAULTS: Readonly<Record<string, ConstructorParameters<typeof MucastError>>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: [
    "too_large",
    "the body is larger than the limit of body_bytes",
    { path: "body" },
  ],
  FST_ERR_CTP_INVALID_MEDIA_TYPE: [
    "unsupported_media_type",
    "the body must be JSON, with a Content-Type that says so",
    { path: "Content-Type", accepted: ["application/json"] },
  ],
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: [
    "invalid_request",
    "the body does not have the length of its Content-Length",
    { path: "body" },
  ],
  FST_ERR_BAD_URL: ["invalid_request", "the URL holds a broken %-encoding", { path: "URL" }],
  FST_ERR_MAX_PARAM_LENGTH: ["not_found", "nothing here has a name that long", { path: "URL" }],
};

/** The problem of an error, and its headers. A defect must be logged under the id in its problem. */
export function problemAnswer(error: unknown) {
  const fault = FASTIFY_FAULTS[(error as { code?: string }).code ?? ""];
  const known = error instanceof MucastError ? error : fault && new MucastError(...fault);
  if (known === undefined || known.code === "internal") {
    // The caller is told only an id: the error may contain secrets.
    const id = randomUUID();
    const defect = new MucastError("internal", `a defect of mucast; see ${id} in its log`, { id });
    return { problem: problemOf(defect), headers: {}, isDefect: true };
  }
  // A second line of defence: messages are written without signatures of URLs.
  const problem: Problem = JSON.parse(withoutSignature(JSON.stringify(problemOf(known))));
  return { problem, headers: chooseHeaders(known), isDefect: false };
}

const CHALLENGE = 'Bearer realm="mucast"';

function chooseHeaders({ code, data }: MucastError): Record<string, string> {
  switch (code) {
    case "unauthorized":
      return { "WWW-Authenticate": CHALLENGE };
    case "forbidden":
      if (data.scope === undefined) return {};
      return { "WWW-Authenticate": `${CHALLENGE}, error="insufficient_scope", scope="${data.scope}"` };
    case "method_not_allowed":
      return { Allow: (data.allow as string[]).join(", ") };
    case "range_not_satisfiable":
      return { "Content-Range": `bytes */${data.size}` };
    case "rate_limited":
    case "unavailable":
      return { "Retry-After": String(data.retryAfter ?? 5) };
    default:
      return {};
  }
}

/** Answers a failed request with its problem. Logs a defect, and any other answer of 5xx except to a probe. */
export function sendProblem(
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
  { settings, log }: Pick<HttpOptions, "settings" | "log">,
): void {
  if (reply.raw.headersSent || reply.raw.destroyed) {
    reply.raw.destroy();
    return;
  }
  const { problem, headers, isDefect } = problemAnswer(error);
  if (problem.code === "unauthorized") {
    const failed = request.headers.authorization === undefined ? "" : ', error="invalid_token"';
    const metadata = `, resource_metadata="${request.publicOrigin}${METADATA_PATH}"`;
    headers["WWW-Authenticate"] = `${CHALLENGE}${failed}${settings.auth === "oidc" ? metadata : ""}`;
  }
  const { url: route, config } = request.routeOptions;
  const { stack, cause } = error as Error;
  if (isDefect) {
    const fields = { defect_id: problem.id, method: request.method, route };
    log.error({ ...fields, stack: withoutSignature(stack ?? String(error)) }, "a request met a defect");
  } else if (problem.status >= 500 && !config?.isProbe) {
    // The problem is enough for the caller; the operator also needs the cause.
    const why = cause instanceof Error ? { cause: withoutSignature(cause.message) } : {};
    log.warn({ code: problem.code, route, detail: problem.detail, ...why }, "a request could not be served");
  }
  request.problemCode = problem.code;
  void reply
    .code(problem.status)
    .headers({ "cache-control": "no-store", ...headers })
    .type(PROBLEM_TYPE)
    .send(JSON.stringify(problem));
}
