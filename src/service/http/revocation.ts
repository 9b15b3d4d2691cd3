import type { FastifyReply, FastifyRequest } from "fastify";
import { MucastError } from "../../contract/errors/errors.ts";
import type { HttpOptions } from "./http-options.ts";

const LOOK_MILLISECONDS = 15_000;

/**
 * Aborted once the API key of a request is revoked, which is looked up for as long as the answer goes on. A token of an
 * OIDC issuer is judged when the request comes: it runs out in the midst of a job that takes hours.
 */
export function revocation(request: FastifyRequest, reply: FastifyReply, options: HttpOptions): AbortSignal {
  const { settings, authenticate, lookMilliseconds = LOOK_MILLISECONDS } = options;
  const controller = new AbortController();
  if (settings.auth !== "keys") return controller.signal;
  const { authorization } = request.headers;
  let isLooking = false;
  const timer = setInterval(async () => {
    if (isLooking) return;
    isLooking = true;
    try {
      await authenticate(authorization);
    } catch (error) {
      // A database that is away revokes no key.
      if (error instanceof MucastError && error.code === "unauthorized") controller.abort();
    }
    isLooking = false;
  }, lookMilliseconds);
  reply.raw.once("close", () => clearInterval(timer));
  if (reply.raw.destroyed) clearInterval(timer);
  return controller.signal;
}
