import type { IncomingMessage } from "node:http";
import { type Agent, request } from "node:https";
import type { BlobLimits } from "./limits.ts";

/** The server or the way to it failed in a manner that may pass. */
export class PassingFailure extends Error {}

export interface RangeRequest {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly agent: Agent;
  readonly limits: BlobLimits;
  readonly signal: AbortSignal;
}

/**
 * One GET, answered by its headers; the body is still to be read. Follows nothing, keeps no cookies.
 * @throws PassingFailure where the connection or the headers do not come in time; else the error of the system.
 */
export function getHeaders(get: RangeRequest): Promise<IncomingMessage> {
  const { url, headers, agent, limits, signal } = get;
  return new Promise((resolve, reject) => {
    const sent = request(url, { method: "GET", headers, agent, signal });
    let timer = expire(limits.connectMs, "no connection");
    function expire(ms: number, what: string): NodeJS.Timeout {
      return setTimeout(() => sent.destroy(new PassingFailure(`${what} within ${ms} ms`)), ms);
    }
    function connected(): void {
      clearTimeout(timer);
      timer = expire(limits.idleMs, "no answer");
    }
    sent.once("socket", (socket) => {
      if (sent.reusedSocket) connected();
      else socket.once("secureConnect", connected);
    });
    sent.once("response", (answer) => {
      clearTimeout(timer);
      resolve(answer);
    });
    sent.once("error", (error) => {
      clearTimeout(timer);
      reject(error);
    });
    sent.end();
  });
}

/**
 * The body of an answer, piece by piece.
 * @throws PassingFailure where a piece does not come in time; the system's error where the connection breaks.
 */
export async function* bodyOf(answer: IncomingMessage, idleMs: number): AsyncGenerator<Uint8Array> {
  const iterator = (answer as AsyncIterable<Uint8Array>)[Symbol.asyncIterator]();
  try {
    for (;;) {
      const failure = new PassingFailure(`no data within ${idleMs} ms`);
      // Only the wait for the server counts, not the time the reader takes between two pieces.
      const timer = setTimeout(() => answer.destroy(failure), idleMs);
      const next = await iterator.next().finally(() => clearTimeout(timer));
      if (next.done) return;
      yield next.value;
    }
  } finally {
    answer.destroy();
  }
}
