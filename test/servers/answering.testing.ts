import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";

/**
 * Makes a server's listener of an asynchronous one. Its errors are thrown, unless its caller has gone or the server was closed meanwhile,
 * when no one is left to answer.
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
