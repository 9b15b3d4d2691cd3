import type { FastifyRequest } from "fastify";
import type { BlobStore } from "../../../blob/store.ts";
import type { Settings } from "../../../contract/settings.ts";

/** What comes before the paths of this service in an absolute URL, for whoever has sent `request`. */
export function publicOrigin({ public_url }: Pick<Settings, "public_url">, request: FastifyRequest): string {
  return public_url?.replace(/\/+$/, "") ?? `http://${request.headers.host}`;
}

/** What comes before `/data/<name>` in the URL of a blob: the store's own, but of a folder, which this service shows. */
export function blobBase(
  settings: Pick<Settings, "public_url">,
  store: Pick<BlobStore, "url">,
  request: FastifyRequest,
): string {
  return store.url === "" ? publicOrigin(settings, request) : store.url;
}
