import type { FastifyReply } from "fastify";

/** A signal that aborts when the connection of a request closes or the service closes. */
export function requestAbort({ raw }: Pick<FastifyReply, "raw">, closing: AbortSignal): AbortSignal {
  const controller = new AbortController();
  // Fastify's `request.signal` aborts once the body has been read.
  raw.once("close", () => controller.abort());
  if (raw.destroyed) controller.abort();
  return AbortSignal.any([controller.signal, closing]);
}
