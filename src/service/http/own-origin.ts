import type { FastifyRequest } from "fastify";
import type { Settings } from "../../contract/settings.ts";

/** What comes before the paths of this service in an absolute URL, for whoever has sent `request`. */
export function ownOrigin({ public_url }: Pick<Settings, "public_url">, request: FastifyRequest): string {
  return public_url?.replace(/\/+$/, "") ?? `http://${request.headers.host}`;
}
