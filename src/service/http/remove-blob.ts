import type { FastifyReply, FastifyRequest } from "fastify";
import { checkReadable, noBlob } from "./blob-names.ts";
import { checkIfMatch } from "./conditions.ts";
import type { HttpOptions } from "./http-options.ts";

/** Removes an input or an output of the caller's. */
export async function removeBlob(
  request: FastifyRequest,
  reply: FastifyReply,
  name: string,
  { blobs }: HttpOptions,
): Promise<FastifyReply> {
  checkReadable(name);
  const caller = request.caller!;
  if (request.headers["if-match"] !== undefined) {
    const spot = await blobs.find(caller, name);
    const blob = await spot?.store.stat(spot.key);
    if (blob === undefined) throw noBlob(name);
    checkIfMatch(request.headers, blob.etag);
  }
  if (!(await blobs.remove(caller, name))) throw noBlob(name);
  return reply.code(204).send();
}
