import { blobParams, readBlobDocs, removeBlobDocs, writeBlobDocs } from "./blob-docs.ts";
import { forgetContentType } from "./body-text.ts";
import type { HttpApp } from "./http-app.ts";
import type { HttpOptions } from "./http-options.ts";
import { OpenDownloads } from "./open-downloads.ts";
import { readBlob } from "./read-blob.ts";
import { removeBlob } from "./remove-blob.ts";
import { writeBlob } from "./write-blob.ts";

/** `GET`, `HEAD`, `PUT` and `DELETE /data/{name}`. */
export function blobRoutes(app: HttpApp, options: HttpOptions, closing: AbortSignal): void {
  const reading = { options, open: new OpenDownloads(options.settings), closing };
  app.removeAllContentTypeParsers();
  forgetContentType(app);
  // The handler reads the body itself, as it comes.
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
