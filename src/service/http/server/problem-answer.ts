import { randomUUID } from "node:crypto";
import { withoutSignature } from "../../../blob/policy.ts";
import { MucastError } from "../../../contract/errors/errors.ts";
import { type Problem, problemOf } from "../../../contract/problems/problem.ts";

export const PROBLEM_TYPE = "application/problem+json";

/** The headers that a problem may have in addition to those of every answer. */
export type ProblemHeader = "allow" | "content-range" | "retry-after" | "www-authenticate";

/** The problem of a failed request, and the headers of its answer. */
export interface ProblemAnswer {
  readonly problem: Problem;
  readonly headers: Readonly<Partial<Record<ProblemHeader, string>>>;
  /** A defect must be logged under the id in its problem. */
  readonly isDefect: boolean;
}

/** The errors of Fastify that are faults of a request. Any other error of Fastify is a defect. */
const FASTIFY_FAULTS: Readonly<Record<string, (message: string) => MucastError>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: () =>
    new MucastError("too_large", "the body is larger than the limit of body_bytes", { path: "body" }),
  FST_ERR_CTP_INVALID_MEDIA_TYPE: () =>
    new MucastError("unsupported_media_type", "the body must be JSON, with a Content-Type that says so", {
      path: "Content-Type",
      accepted: ["application/json"],
    }),
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: (message) =>
    new MucastError("invalid_request", message, { path: "body" }),
  FST_ERR_CTP_EMPTY_JSON_BODY: (message) => new MucastError("invalid_request", message, { path: "body" }),
  FST_ERR_CTP_INVALID_JSON_BODY: (message) => new MucastError("invalid_request", message, { path: "body" }),
  FST_ERR_BAD_URL: () =>
    new MucastError("invalid_request", "the URL holds a broken %-encoding", { path: "URL" }),
  FST_ERR_MAX_PARAM_LENGTH: () =>
    new MucastError("not_found", "nothing here has a name that long", { path: "URL" }),
};

/** The answer to a request that failed with an error. @param hadCredentials whether the request had an Authorization header. */
export function problemAnswer(error: unknown, hadCredentials = false): ProblemAnswer {
  const known = error instanceof MucastError ? error : fastifyFault(error);
  if (known === undefined || known.code === "internal") return defect();
  const problem = { ...problemOf(known), status: statusOf(known) };
  return { problem: withoutSecrets(problem), headers: headersOf(known, hadCredentials), isDefect: false };
}

function fastifyFault(error: unknown): MucastError | undefined {
  const { code, message } = error as { code?: string; message?: string };
  return FASTIFY_FAULTS[code ?? ""]?.(message ?? "");
}

/** Tells the caller only an id: the error may contain secrets. */
function defect(): ProblemAnswer {
  const id = randomUUID();
  const error = new MucastError("internal", `a defect of mucast; see ${id} in its log`, {
    id,
  });
  return { problem: problemOf(error), headers: {}, isDefect: true };
}

/** The status of the code, unless HTTP has a more precise one. */
function statusOf({ code, data, entry }: MucastError): number {
  // 409 while the first request with the key is in progress, and 422 for a key that was used with another body.
  if (code === "idempotency_conflict" && data.sameBody === false) return 422;
  return code === "invalid_request" && typeof data.status === "number" ? data.status : entry.status;
}

const DEFAULT_RETRY_SECONDS = 5;

function headersOf({ code, data }: MucastError, hadCredentials: boolean): ProblemAnswer["headers"] {
  if (code === "unauthorized") {
    return { "www-authenticate": `Bearer realm="mucast"${hadCredentials ? ', error="invalid_token"' : ""}` };
  }
  if (code === "forbidden" && typeof data.scope === "string") {
    return { "www-authenticate": `Bearer realm="mucast", error="insufficient_scope", scope="${data.scope}"` };
  }
  if (code === "method_not_allowed" && Array.isArray(data.allow)) return { allow: data.allow.join(", ") };
  if (code === "range_not_satisfiable") return { "content-range": `bytes */${data.size}` };
  if (code === "rate_limited" || code === "unavailable") {
    return { "retry-after": String(data.retryAfter ?? DEFAULT_RETRY_SECONDS) };
  }
  return code === "idempotency_conflict" && data.sameBody === true ? { "retry-after": "1" } : {};
}

/** A second line of defence: messages are written without signatures of URLs. */
function withoutSecrets(problem: Problem): Problem {
  return JSON.parse(withoutSignature(JSON.stringify(problem)));
}

/** Refusals before the choice of a route, by status. The OpenAPI document lists each of them for every operation. */
const EARLY_REFUSALS = {
  408: { path: "headers", detail: "the headers came too slowly" },
  417: { path: "Expect", detail: "the only expectation that can be met is 100-continue" },
  431: { path: "headers", detail: "the URL and the headers together are longer than 16 KiB" },
} as const;

export type EarlyStatus = keyof typeof EARLY_REFUSALS;

export const EARLY_STATUSES = Object.keys(EARLY_REFUSALS).map(Number) as EarlyStatus[];

/** @returns an invalid_request with that status. */
export function earlyRefusal(status: EarlyStatus): MucastError {
  const { path, detail } = EARLY_REFUSALS[status];
  return new MucastError("invalid_request", detail, { path, status });
}
