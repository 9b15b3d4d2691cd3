import type { FastifyRequest } from "fastify";
import { MucastError } from "../../contract/errors/errors.ts";
import { show } from "../../contract/errors/faults.ts";
import type { OwnHosts } from "./own-hosts.ts";

/**
 * Refuses requests that are not meant for this service: another Host, two of them, or a URL as proxies get it.
 *
 * @throws MucastError forbidden, invalid_request.
 */
export function checkHost({ raw }: Pick<FastifyRequest, "raw">, hosts: OwnHosts): void {
  const given = raw.rawHeaders.filter((name, index) => index % 2 === 0 && name.toLowerCase() === "host");
  const host = raw.headers.host;
  if (given.length !== 1 || host === undefined) {
    throw new MucastError("invalid_request", "the request needs exactly one Host header", { path: "Host" });
  }
  if (!raw.url!.startsWith("/") && raw.url !== "*") {
    throw new MucastError("invalid_request", "the request line must hold a path, not a whole URL", {
      path: "URL",
    });
  }
  if (hosts.has(host, raw.socket)) return;
  throw new MucastError(
    "forbidden",
    `Host ${show(host)} is no name of this service; its operator may add it to MUCAST_ALLOWED_HOSTS`,
    { path: "Host" },
  );
}
