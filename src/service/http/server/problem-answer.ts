import { randomUUID } from "node:crypto";
import { type IncomingMessage, STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import type { FastifyReply, FastifyRequest } from "fastify";
import { withoutSignature } from "../../../blob/policy.ts";
import { MucastError } from "../../../contract/errors/errors.ts";
import { type Problem, problemOf } from "../../../contract/problems/problem.ts";
import type { Log } from "../../telemetry/log.ts";

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

/** An expectation that the service cannot meet. The OpenAPI document lists it for every operation. */
export function unmetExpectation(): MucastError {
  const detail = "the only expectation that can be met is 100-continue";
  return new MucastError("invalid_request", detail, { path: "Expect", status: 417 });
}

/** Headers of every answer. They prevent browsers from guessing its type and from framing, embedding or storing it. */
export const SAFE_HEADERS: Readonly<Record<string, string>> = {
  "cache-control": "no-store",
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
  "cross-origin-resource-policy": "same-origin",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
};

/** Node's code for bytes after a request that is the last of its connection. */
const AFTER_THE_LAST = "HPE_CLOSED_CONNECTION";

/** How long a caller may continue to send after the service has refused its request. */
const LINGER_MILLISECONDS = 5_000;

/** Answers a failed request with its problem. Logs a defect, and any other answer of 5xx except to a probe. */
export function sendProblem(error: unknown, request: FastifyRequest, reply: FastifyReply, log: Log): void {
  if (reply.raw.headersSent || reply.raw.destroyed) {
    reply.raw.destroy();
    return;
  }
  const answer = problemAnswer(error, request.headers.authorization !== undefined);
  if (answer.isDefect) logDefect(error, answer, request, log);
  else if (answer.problem.status >= 500 && !request.routeOptions.config?.isProbe)
    logOutage(error, answer, request, log);
  request.problemCode = answer.problem.code;
  if (!request.raw.complete) discardRest(request.raw);
  void reply
    .code(answer.problem.status)
    .headers({ "cache-control": "no-store", ...answer.headers })
    .type(PROBLEM_TYPE)
    .send(JSON.stringify(answer.problem));
}

function logDefect(error: unknown, { problem }: ProblemAnswer, request: FastifyRequest, log: Log): void {
  const stack = error instanceof Error ? (error.stack ?? error.message) : String(error);
  log.error(
    {
      defect_id: problem.id,
      method: request.method,
      route: request.routeOptions.url,
      stack: withoutSignature(stack),
    },
    "a request met a defect",
  );
}

/** The problem is enough for the caller; the operator also needs the cause. */
function logOutage(error: unknown, { problem }: ProblemAnswer, request: FastifyRequest, log: Log): void {
  const { cause } = error as Error;
  log.warn(
    {
      code: problem.code,
      route: request.routeOptions.url,
      detail: problem.detail,
      ...(cause instanceof Error ? { cause: withoutSignature(cause.message) } : {}),
    },
    "a request could not be served",
  );
}

/**
 * Reads and drops what the caller still sends. If the service closed the connection while bytes arrive, the caller's system would
 * drop the answer. After LINGER_MILLISECONDS it closes the connection anyway.
 */
function discardRest(raw: IncomingMessage): void {
  const { socket } = raw;
  const timer = setTimeout(() => socket.destroy(), LINGER_MILLISECONDS).unref();
  raw.once("end", () => clearTimeout(timer)).once("close", () => clearTimeout(timer));
  raw.resume();
}

const STATUS_OF_NODE_ERROR: Readonly<Record<string, number>> = {
  HPE_HEADER_OVERFLOW: 431,
  ERR_HTTP_REQUEST_TIMEOUT: 408,
};

/**
 * Answers bytes that are not an HTTP request, or headers that are too long or too slow, and closes the connection, as Node does by
 * itself. But the last request of a connection is answered although bytes follow it.
 */
export function answerClientError(
  { code = "" }: { readonly code?: string },
  socket: Socket,
  owesAnswer: boolean,
): void {
  if (code === AFTER_THE_LAST) return;
  if (code === "ECONNRESET") socket.destroy();
  else endWithStatus(socket, STATUS_OF_NODE_ERROR[code] ?? 400, owesAnswer);
}

/**
 * Answers with a status alone on a socket that has no response, and closes the connection.
 * @param owesAnswer closes it without the status, which the client would read as the answer to an earlier request, or as a part of it.
 */
export function endWithStatus(socket: Socket, status: number, owesAnswer: boolean): void {
  if (socket.writable && !owesAnswer)
    socket.write(
      `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`,
    );
  socket.destroySoon();
}
