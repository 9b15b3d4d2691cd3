import type { FastifyReply, FastifyRequest } from "fastify";
import { MucastError } from "../../../contract/errors/errors.ts";
import type { HttpOptions } from "./http-app.ts";

/** Aborted once nobody waits for the answer any more: its connection is closed, or the service ends. */
export function requestAbort({ raw }: FastifyReply, closing: AbortSignal): AbortSignal {
  const controller = new AbortController();
  raw.once("close", () => controller.abort());
  if (raw.destroyed) controller.abort();
  return AbortSignal.any([controller.signal, closing]);
}

const LOOK_MILLISECONDS = 15_000;

/**
 * Aborted once the API key of a request is revoked, which is looked up for as long as the answer goes on. A token of an
 * OIDC issuer is judged when the request comes: it runs out in the midst of a job that takes hours.
 */
export function keyRevocation(
  request: FastifyRequest,
  reply: FastifyReply,
  options: HttpOptions,
): AbortSignal {
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

/** A reader who takes no further piece of 64 KiB, or event, for so long has gone, or holds what it took for nothing. */
export const STALL_MILLISECONDS = 60_000;

/**
 * Pieces as they are asked for. `onStall` is called where a reader does not ask for the next one in time; what it does
 * ends the reading.
 */
export async function* paced<T>(
  pieces: AsyncIterable<T>,
  milliseconds: number,
  onStall: () => void,
): AsyncGenerator<T, void> {
  for await (const piece of pieces) {
    const timer = setTimeout(onStall, milliseconds);
    try {
      yield piece;
    } finally {
      clearTimeout(timer);
    }
  }
}
