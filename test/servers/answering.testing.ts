import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";

/**
 * A server's listener made of an asynchronous one. What it throws is thrown, unless its caller has gone or the server was
 * closed meanwhile: then no one is left to answer, and it is over.
 */
export function answering(
  answer: (request: IncomingMessage, response: ServerResponse) => Promise<unknown>,
): RequestListener {
  return (request, response) => {
    answer(request, response).catch((error: unknown) => {
      if (!request.socket.destroyed) throw error;
    });
  };
}
