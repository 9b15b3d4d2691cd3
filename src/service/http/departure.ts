import type { FastifyReply } from "fastify";

/** Aborted once nobody waits for the answer any more: its connection is closed, or the service ends. */
export function departure({ raw }: FastifyReply, closing: AbortSignal): AbortSignal {
  const controller = new AbortController();
  raw.once("close", () => controller.abort());
  if (raw.destroyed) controller.abort();
  return AbortSignal.any([controller.signal, closing]);
}
