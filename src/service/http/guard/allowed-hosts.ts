import type { FastifyRequest } from "fastify";
import { MucastError } from "../../../contract/errors/errors.ts";
import { show } from "../../../contract/errors/faults.ts";
import { isLoopbackName } from "../../../contract/machine/loopback.ts";
import type { Settings } from "../../../contract/settings.ts";

/** The service's end of a connection. */
interface LocalEnd {
  readonly localAddress?: string | undefined;
  readonly localPort?: number | undefined;
}

const HOST = /^(\[[0-9a-f:.]+\]|[^:[\]@/?#\\\s,]+)(?::(\d{1,5}))?$/i;

const MAX_PORT = 65_535;

/**
 * The names that a request's `Host` may have.
 *
 * A page of a foreign site can make its own name resolve to this service's address (DNS rebinding); a browser then sends that name in
 * `Host`.
 */
export class AllowedHosts {
  readonly #names: ReadonlySet<string>;

  constructor(settings: Pick<Settings, "public_url" | "allowed_hosts">) {
    const named = settings.public_url === undefined ? [] : [new URL(settings.public_url).host];
    this.#names = new Set([...named, ...settings.allowed_hosts].map(withoutDefaultPort));
  }

  /**
   * Refuses a request with a foreign Host, with no Host or two, or with a whole URL in its request line, as sent to a proxy. A route
   * that `isOnAnyHost` accepts every Host.
   *
   * @throws MucastError forbidden, invalid_request.
   */
  check({ raw, routeOptions }: FastifyRequest): void {
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
    if (routeOptions.config?.isOnAnyHost || this.has(host, raw.socket)) return;
    throw new MucastError(
      "forbidden",
      `Host ${show(host)} is not a name of this service; its operator may add it to MUCAST_ALLOWED_HOSTS`,
      {
        path: "Host",
        title: "The Host header does not name this service",
        advice:
          "Use a URL with a name of this service, or ask its operator to add this one to MUCAST_ALLOWED_HOSTS.",
      },
    );
  }

  /**
   * Whether a host is a configured name, a loopback name, or the connection's own local address with the connection's port. An address
   * is not a DNS name, so it cannot be rebound. A loopback name may have any port: that of a container that is published on another
   * one, or of a forwarded port.
   */
  has(host: string, { localAddress, localPort }: LocalEnd): boolean {
    if (this.#names.has(withoutDefaultPort(host))) return true;
    const [, name, port = "80"] = HOST.exec(host) ?? [];
    if (name === undefined || Number(port) > MAX_PORT) return false;
    if (isLoopbackName(name)) return true;
    return Number(port) === localPort && unbracketed(name) === localAddress?.replace(/^::ffff:/, "");
  }
}

function withoutDefaultPort(host: string): string {
  return host.toLowerCase().replace(/:(80|443)$/, "");
}

function unbracketed(name: string): string {
  return name.toLowerCase().replace(/^\[(.*)\]$/, "$1");
}
