import { STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import { MucastError } from "../../contract/errors/errors.ts";
import { type EarlyStatus, earlyRefusal } from "./early-refusals.ts";
import { problemAnswer } from "./problem-answer.ts";
import { SAFE_HEADERS } from "./safe-headers.ts";
import { LINGER_MILLISECONDS, PROBLEM_TYPE } from "./send-problem.ts";

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
