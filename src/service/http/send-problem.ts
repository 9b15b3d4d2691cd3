import type { IncomingMessage } from "node:http";
import type { FastifyReply, FastifyRequest } from "fastify";
import { withoutSignature } from "../../blob/policy.ts";
import type { Log } from "../telemetry/log.ts";
import { type ProblemAnswer, problemAnswer } from "./problem-answer.ts";

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
