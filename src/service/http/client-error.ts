import { STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import { MucastError } from "../../contract/errors.ts";
import { problemAnswer } from "./problem-answer.ts";
import { PROBLEM_TYPE } from "./send-problem.ts";

/** Answers what is no HTTP request at all, or one whose headers are too long or too slow, and closes. */
export function answerClientError(error: Error & { code?: string }, socket: Socket): void {
  if (error.code === "ECONNRESET" || !socket.writable) {
    socket.destroy();
    return;
  }
  const { problem } = problemAnswer(refusal(error.code));
  const body = JSON.stringify(problem);
  socket.end(
    [
      `HTTP/1.1 ${problem.status} ${STATUS_CODES[problem.status]}`,
      `Content-Type: ${PROBLEM_TYPE}`,
      `Content-Length: ${Buffer.byteLength(body)}`,
      "Connection: close",
      "",
      body,
    ].join("\r\n"),
  );
}

function refusal(code: string | undefined): MucastError {
  if (code === "HPE_HEADER_OVERFLOW") {
    return new MucastError("invalid_request", "the headers are longer than 16 KiB", {
      path: "headers",
      status: 431,
    });
  }
  if (code === "ERR_HTTP_REQUEST_TIMEOUT") {
    return new MucastError("invalid_request", "the request came too slowly", {
      path: "headers",
      status: 408,
    });
  }
  return new MucastError("invalid_request", "this is no valid HTTP/1.1 request", { path: "headers" });
}
