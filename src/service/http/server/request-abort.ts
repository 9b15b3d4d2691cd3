import type { FastifyReply, FastifyRequest } from "fastify";
import { MucastError } from "../../../contract/errors/errors.ts";
import type { HttpOptions } from "./http-app.ts";

/** A signal that aborts when the connection of a request closes or the service closes. */
export function requestAbort(reply: FastifyReply, closing: AbortSignal): AbortSignal {
  return AbortSignal.any([connectionClosed(reply), closing]);
}

/** A signal that aborts when the connection of a request closes, or its answer has been sent. */
export function connectionClosed({ raw }: Pick<FastifyReply, "raw">): AbortSignal {
  const controller = new AbortController();
  raw.once("close", () => controller.abort());
  if (raw.destroyed) controller.abort();
  return controller.signal;
}

/**
 * Waits for work that may take longer than a connection may be idle and has its own time limit. While the answer is sent, the
 * connection has its timeout again.
 */
export async function whileIdle<T>(
  { raw: { socket }, server }: FastifyRequest,
  work: Promise<T>,
): Promise<T> {
  socket.setTimeout(0);
  try {
    return await work;
  } finally {
    socket.setTimeout(server.server.timeout);
  }
}

const KEY_CHECK_MILLISECONDS = 15_000;

/**
 * A signal that aborts when the API key of a request is revoked. The key is checked until the response closes.
 *
 * A token of an OIDC issuer is checked only when the request starts: it expires during a job that takes hours.
 */
export function keyRevocation(
  request: FastifyRequest,
  reply: FastifyReply,
  options: HttpOptions,
): AbortSignal {
  const { settings, authenticate, keyCheckMilliseconds = KEY_CHECK_MILLISECONDS } = options;
  const controller = new AbortController();
  if (settings.auth !== "keys") return controller.signal;
  const { authorization } = request.headers;
  let isChecking = false;
  const timer = setInterval(async () => {
    if (isChecking) return;
    isChecking = true;
    try {
      await authenticate(authorization);
    } catch (error) {
      // A database that cannot be reached does not revoke keys.
      if (error instanceof MucastError && error.code === "unauthorized") controller.abort();
    }
    isChecking = false;
  }, keyCheckMilliseconds);
  reply.raw.once("close", () => clearInterval(timer));
  if (reply.raw.destroyed) clearInterval(timer);
  return controller.signal;
}
