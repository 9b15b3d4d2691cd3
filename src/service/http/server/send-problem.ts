import { type IncomingMessage, STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import type { FastifyReply, FastifyRequest } from "fastify";
import { withoutSignature } from "../../../blob/policy.ts";
import { MucastError } from "../../../contract/errors/errors.ts";
import type { Log } from "../../telemetry/log.ts";
import { type EarlyStatus, earlyRefusal, type ProblemAnswer, problemAnswer } from "./problem-answer.ts";

/** Headers of every answer, for browsers: nothing of it is to be guessed, framed, embedded or kept. */
export const SAFE_HEADERS: Readonly<Record<string, string>> = {
  "cache-control": "no-store",
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
  "cross-origin-resource-policy": "same-origin",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
};

export const PROBLEM_TYPE = "application/problem+json";
/** So long a caller who is refused may go on sending. */
export const LINGER_MILLISECONDS = 5_000;

/** Answers a failed request with its problem; a defect is logged, and its problem tells only where. */
export function sendProblem(error: unknown, request: FastifyRequest, reply: FastifyReply, log: Log): void {
  if (reply.raw.headersSent || reply.raw.destroyed) {
    reply.raw.destroy();
    return;
  }
  const answer = problemAnswer(error, request.headers.authorization !== undefined);
  if (answer.isDefect) logDefect(error, answer, request, log);
  else if (answer.problem.status >= 500) logOutage(error, answer, request, log);
  request.problemCode = answer.problem.code;
  if (!request.raw.complete) readOn(request.raw);
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

/** What the caller is told suffices for them; the operator needs to know what lies behind. */
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
 * Takes in what a caller still sends while it is refused: a connection that is closed meanwhile would lose the answer
 * on its way. After a while it is closed all the same.
 */
function readOn(raw: IncomingMessage): void {
  const { socket } = raw;
  const timer = setTimeout(() => socket.destroy(), LINGER_MILLISECONDS).unref();
  raw.once("end", () => clearTimeout(timer)).once("close", () => clearTimeout(timer));
  raw.resume();
}

/** Their callers are told already; what still comes from them is met by Node as one error after the other. */
const refused = new WeakSet<Socket>();

/**
 * Answers what is no HTTP request at all, or one whose headers are too long or too slow, and closes.
 *
 * @param isAnswering whether an answer has begun on the connection, whose bytes another one would be taken for.
 */
export function answerClientError(
  error: Error & { code?: string },
  socket: Socket,
  isAnswering: boolean,
): void {
  if (refused.has(socket) && error.code !== "ECONNRESET") return;
  if (error.code === "ECONNRESET" || !socket.writable || isAnswering) {
    socket.destroy();
    return;
  }
  refused.add(socket);
  // Closed at once, it would lose the answer on its way to a caller who still sends.
  const timer = setTimeout(() => socket.destroy(), LINGER_MILLISECONDS).unref();
  socket.once("close", () => clearTimeout(timer));
  const { problem } = problemAnswer(refusal(error.code));
  const body = JSON.stringify(problem);
  const headers = {
    ...SAFE_HEADERS,
    "content-type": PROBLEM_TYPE,
    "content-length": Buffer.byteLength(body),
    connection: "close",
  };
  socket.end(
    [
      `HTTP/1.1 ${problem.status} ${STATUS_CODES[problem.status]}`,
      ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
      "",
      body,
    ].join("\r\n"),
  );
}

/** Codes of Node's errors that have a status of their own. */
const STATUSES: Readonly<Record<string, EarlyStatus>> = {
  HPE_HEADER_OVERFLOW: 431,
  ERR_HTTP_REQUEST_TIMEOUT: 408,
};

function refusal(code = ""): MucastError {
  const status = STATUSES[code];
  if (status !== undefined) return earlyRefusal(status);
  return new MucastError("invalid_request", "this is no valid HTTP/1.1 request", { path: "headers" });
}
