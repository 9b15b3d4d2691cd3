import type { FastifyRequest } from "fastify";
import { MucastError } from "../../../contract/errors/errors.ts";
import { show } from "../../../contract/errors/faults.ts";
import type { Settings } from "../../../contract/settings.ts";
import { isLoopbackName } from "../../auth/build-authenticate.ts";

/**
 * Refuses requests that are not meant for this service: another Host, two of them, or a URL as proxies get it.
 *
 * @throws MucastError forbidden, invalid_request.
 */
export function checkHost({ raw }: Pick<FastifyRequest, "raw">, hosts: AllowedHosts): void {
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

/** Where a connection has arrived. */
export interface ArrivedAt {
  readonly localAddress?: string | undefined;
  readonly localPort?: number | undefined;
}

const HOST = /^(\[[0-9a-f:.]+\]|[^:[\]@/?#\\\s,]+)(?::(\d{1,5}))?$/i;

/**
 * The names under which the service may be asked for. Another one in `Host` is that of a page which has its name
 * resolve to this address (DNS rebinding), so it is refused.
 */
export class AllowedHosts {
  readonly #names: ReadonlySet<string>;

  constructor(settings: Pick<Settings, "public_url" | "allowed_hosts">) {
    const named = settings.public_url === undefined ? [] : [new URL(settings.public_url).host];
    this.#names = new Set([...named, ...settings.allowed_hosts].map(withoutDefaultPort));
  }

  /**
   * Configured names, loopback names with the port of the connection, and the very address it has arrived at, which
   * no name stands between.
   */
  has(host: string, at: ArrivedAt): boolean {
    if (this.#names.has(withoutDefaultPort(host))) return true;
    const [, name, port = "80"] = HOST.exec(host) ?? [];
    if (name === undefined || Number(port) !== at.localPort) return false;
    return isLoopbackName(name) || unbracketed(name) === at.localAddress?.replace(/^::ffff:/, "");
  }
}

function withoutDefaultPort(host: string): string {
  return host.toLowerCase().replace(/:(80|443)$/, "");
}

function unbracketed(name: string): string {
  return name.toLowerCase().replace(/^\[(.*)\]$/, "$1");
}
