import { type IncomingMessage, STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import type { FastifyReply, FastifyRequest } from "fastify";
import { withoutSignature } from "../../../blob/policy.ts";
import { MucastError } from "../../../contract/errors/errors.ts";
import type { Log } from "../../telemetry/log.ts";
import {
  type EarlyStatus,
  earlyRefusal,
  PROBLEM_TYPE,
  type ProblemAnswer,
  problemAnswer,
} from "./problem-answer.ts";

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

/** How long a caller may go on sending after the service has refused its request. */
const LINGER_MILLISECONDS = 5_000;

/** Answers a failed request with its problem. Logs a defect and any other answer of 5xx. */
export function sendProblem(error: unknown, request: FastifyRequest, reply: FastifyReply, log: Log): void {
  if (reply.raw.headersSent || reply.raw.destroyed) {
    reply.raw.destroy();
    return;
  }
  const answer = problemAnswer(error, request.headers.authorization !== undefined);
  if (answer.isDefect) logDefect(error, answer, request, log);
  else if (answer.problem.status >= 500) logOutage(error, answer, request, log);
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

/** Sockets that have received their problem. Node reports each further piece that arrives on them as another error. */
const refused = new WeakSet<Socket>();

/**
 * Answers bytes that are not an HTTP request, or headers that are too long or too slow, and closes the connection.
 *
 * @param owesAnswer whether the client would read a problem as the answer to an earlier request, or as a part of it.
 */
export function answerClientError(
  error: Error & { code?: string },
  socket: Socket,
  owesAnswer: boolean,
): void {
  if (refused.has(socket) && error.code !== "ECONNRESET") return;
  // Its request is answered, and what follows is dropped.
  if (error.code === AFTER_THE_LAST) return;
  if (error.code === "ECONNRESET" || !socket.writable || owesAnswer) {
    socket.destroy();
    return;
  }
  refused.add(socket);
  endWithProblem(socket, refusal(error.code));
}

/** Answers with a problem on a socket that has no response, and closes the connection. */
export function endWithProblem(socket: Socket, error: MucastError): void {
  // A caller that still sends would lose the answer if the service closed the connection at once.
  const timer = setTimeout(() => socket.destroy(), LINGER_MILLISECONDS).unref();
  socket.once("close", () => clearTimeout(timer));
  const { problem, headers: more } = problemAnswer(error);
  const body = JSON.stringify(problem);
  const headers = {
    ...SAFE_HEADERS,
    ...more,
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

const STATUS_OF_NODE_ERROR: Readonly<Record<string, EarlyStatus>> = {
  HPE_HEADER_OVERFLOW: 431,
  ERR_HTTP_REQUEST_TIMEOUT: 408,
};

function refusal(code = ""): MucastError {
  const status = STATUS_OF_NODE_ERROR[code];
  if (status !== undefined) return earlyRefusal(status);
  return new MucastError("invalid_request", "this is not a valid HTTP/1.1 request", { path: "headers" });
}
