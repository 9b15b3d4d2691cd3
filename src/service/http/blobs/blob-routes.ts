import type { FastifyReply, FastifyRequest } from "fastify";
import { OpenAnswers } from "../guard/caller-limits.ts";
import { checkIfMatch } from "../server/conditional-requests.ts";
import type { HttpApp, HttpOptions } from "../server/http-app.ts";
import { ignoreContentType } from "../server/request-bodies.ts";
import { blobParams, readBlobDocs, removeBlobDocs, writeBlobDocs } from "./blob-docs.ts";
import { checkReadable, noBlob } from "./blob-names.ts";
import { readBlob } from "./read-blob.ts";
import { writeBlob } from "./write-blob.ts";

/** `GET`, `HEAD`, `PUT` and `DELETE /data/{name}`. */
export function blobRoutes(app: HttpApp, options: HttpOptions, closing: AbortSignal): void {
  const { downloads, downloads_per_caller } = options.settings;
  const open = new OpenAnswers({
    ofCaller: downloads_per_caller,
    all: downloads,
    what: "downloads",
    settings: { ofCaller: "downloads_per_caller", all: "downloads" },
  });
  const reading = { options, open, closing };
  app.removeAllContentTypeParsers();
  ignoreContentType(app);
  // writeBlob reads the body itself, piece by piece.
  app.addContentTypeParser("*", (_request, _payload, done) => done(null));
  app.route({
    method: ["GET", "HEAD"],
    url: "/data/:name",
    config: { access: "read" },
    schema: { ...readBlobDocs, params: blobParams },
    handler: (request, reply) => readBlob(request, reply, request.params.name, reading),
  });
  app.route({
    method: "PUT",
    url: "/data/:name",
    config: { access: "write", isStreamed: true },
    schema: { ...writeBlobDocs, params: blobParams },
    handler: (request, reply) => writeBlob(request, reply, request.params.name, options),
  });
  app.route({
    method: "DELETE",
    url: "/data/:name",
    config: { access: "write" },
    schema: { ...removeBlobDocs, params: blobParams },
    handler: (request, reply) => removeBlob(request, reply, request.params.name, options),
  });
}

/** Removes an input or an output of the caller. */
async function removeBlob(
  request: FastifyRequest,
  reply: FastifyReply,
  name: string,
  { blobs }: HttpOptions,
): Promise<FastifyReply> {
  checkReadable(name);
  const caller = request.caller!;
  if (request.headers["if-match"] !== undefined) {
    const address = await blobs.find(caller, name);
    const blob = await address?.store.stat(address.key);
    if (blob === undefined) throw noBlob(name);
    checkIfMatch(request.headers, blob.etag);
  }
  if (!(await blobs.remove(caller, name))) throw noBlob(name);
  return reply.code(204).send();
}
