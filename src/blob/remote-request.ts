import { type Agent as HttpAgent, request as httpRequest, type IncomingMessage } from "node:http";
import { type Agent as HttpsAgent, request as httpsRequest } from "node:https";
import type { Socket } from "node:net";
import type { BlobLimits } from "./limits.ts";

/** The server or the way to it failed in a manner that may pass. */
export class PassingFailure extends Error {}

export interface RemoteRequest {
  readonly url: URL;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Uint8Array | string | undefined;
  readonly agent: HttpAgent | HttpsAgent;
  readonly limits: BlobLimits;
  readonly signal: AbortSignal;
}

/** Connections that stand; `reusedSocket` does not tell it of a request that has waited for its turn. */
const standing = new WeakSet<Socket>();

/**
 * One request, answered by its headers; the body of the answer is still to be read. Follows nothing, keeps no cookies.
 * @throws PassingFailure where the connection or the headers do not come in time; else the error of the system.
 */
export function send({ url, body, limits, ...options }: RemoteRequest): Promise<IncomingMessage> {
  const secure = url.protocol === "https:";
  return new Promise((resolve, reject) => {
    const sent = (secure ? httpsRequest : httpRequest)(url, options);
    let timer = expire(limits.connectMs, "no connection");
    function expire(ms: number, what: string): NodeJS.Timeout {
      return setTimeout(() => sent.destroy(new PassingFailure(`${what} within ${ms} ms`)), ms);
    }
    let answered = false;
    function awaitAnswer(): void {
      clearTimeout(timer);
      if (!answered) timer = expire(limits.idleMs, "no answer");
    }
    sent.once("socket", (socket) => {
      if (standing.has(socket)) awaitAnswer();
      else
        socket.once(secure ? "secureConnect" : "connect", () => {
          standing.add(socket);
          awaitAnswer();
        });
    });
    // The body has left: from now on only the server can be slow.
    if (body !== undefined) sent.once("finish", awaitAnswer);
    sent.once("response", (answer) => {
      answered = true;
      clearTimeout(timer);
      resolve(answer);
    });
    sent.on("error", (error) => {
      clearTimeout(timer);
      reject(error);
    });
    sent.end(body);
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
