import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { answering } from "../../test/servers/answering.testing.ts";
import type { OperationView } from "../contract/api/operation-view.ts";
import type { ErrorCode } from "../contract/errors/error-codes.ts";
import { MucastError } from "../contract/errors/errors.ts";
import { problemOf } from "../contract/problems/problem.ts";

/** A request as the fake service received it. */
export interface ReceivedRequest {
  readonly method: string;
  /** Includes the query. */
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export type Answer = (request: ReceivedRequest, response: ServerResponse) => void;

/** A fake service: a real HTTP server on loopback that returns a test's answers in order. */
export class FakeService implements AsyncDisposable {
  readonly requests: ReceivedRequest[] = [];
  readonly #answers: Answer[];
  readonly #server = createServer(
    answering(async (request, response) => {
      const parts: Buffer[] = [];
      for await (const part of request) parts.push(part);
      const received = {
        method: request.method!,
        url: request.url!,
        headers: request.headers,
        body: Buffer.concat(parts).toString(),
      };
      this.requests.push(received);
      const answer = this.#answers.length > 1 ? this.#answers.shift()! : this.#answers[0]!;
      answer(received, response);
    }),
  );

  /** @param answers the last one is repeated for all further requests. */
  constructor(...answers: readonly Answer[]) {
    this.#answers = [...answers];
  }

  /** @returns the base URL. */
  async listen(): Promise<string> {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, "close");
  }
}

/** Answers with JSON. */
export function json(status: number, value: unknown, headers: Record<string, string> = {}): Answer {
  return (_request, response) => {
    response.writeHead(status, { "content-type": "application/json", ...headers });
    response.end(JSON.stringify(value));
  };
}

export function refusal(code: ErrorCode, headers: Record<string, string> = {}): Answer {
  const problem = problemOf(new MucastError(code, `${code}, says the fake service`));
  return json(problem.status, problem, { "content-type": "application/problem+json", ...headers });
}

/** Closes the connection without an answer. */
export function broken(_request: ReceivedRequest, response: ServerResponse): void {
  response.destroy();
}

/** Answers with these server-sent events and ends the stream. */
export function stream(...lines: readonly string[]): Answer {
  return (_request, response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.end(lines.map((line) => `${line}\n`).join(""));
  };
}

/** The lines of the event with number `seq`. */
export function sent(seq: number, type: string, data: unknown): string {
  const event = { seq, operation_id: "one", time: "2026-01-02T03:04:05.678Z", type, data };
  return `id: ${seq}\nevent: ${type}\ndata: ${JSON.stringify(event)}\n`;
}

export function operation(changes: Partial<OperationView> = {}): OperationView {
  return {
    id: "one",
    operation: "run_ml_job",
    status: "NotStarted",
    created_at: "2026-01-02T03:04:05.678Z",
    started_at: null,
    finished_at: null,
    progress: null,
    warnings: [],
    result: null,
    error: null,
    ...changes,
  };
}

export const SUCCEEDED = operation({
  status: "Succeeded",
  started_at: "2026-01-02T03:04:06.000Z",
  finished_at: "2026-01-02T03:04:07.000Z",
  result: {
    status: "Succeeded",
    output_url: "http://127.0.0.1:8080/data/ml_engine_one.json",
    output_name: "ml_engine_one.json",
    execution_name: "ml-worker-job-one",
  },
});
