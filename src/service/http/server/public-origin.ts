import type { FastifyRequest } from "fastify";
import type { BlobStore } from "../../../blob/store.ts";
import type { Settings } from "../../../contract/settings.ts";

/** The part of this service's URLs before the path, as the sender of a request can reach it. */
export function publicOrigin({ public_url }: Pick<Settings, "public_url">, request: FastifyRequest): string {
  return public_url?.replace(/\/+$/, "") ?? `http://${request.headers.host}`;
}

/** The part of a blob's URL before `/data/<name>`: the store's URL, or for a folder the origin of this service. */
export function blobBase(
  settings: Pick<Settings, "public_url">,
  store: Pick<BlobStore, "url">,
  request: FastifyRequest,
): string {
  return store.url === "" ? publicOrigin(settings, request) : store.url;
}
