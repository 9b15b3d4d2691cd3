import type { FastifyRequest } from "fastify";
import { MucastError } from "../../../contract/errors/errors.ts";
import { show } from "../../../contract/errors/faults.ts";
import { isLoopbackName } from "../../../contract/machine/loopback.ts";
import type { Settings } from "../../../contract/settings.ts";

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

  /** Accepts every Host on a route that `isOnAnyHost`. @throws MucastError forbidden. */
  check({ headers: { host = "" }, socket, routeOptions }: FastifyRequest): void {
    if (routeOptions.config?.isOnAnyHost || this.has(host, socket)) return;
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
    const plain = name.toLowerCase().replace(/^\[(.*)\]$/, "$1");
    return Number(port) === localPort && plain === localAddress?.replace(/^::ffff:/, "");
  }
}

function withoutDefaultPort(host: string): string {
  return host.toLowerCase().replace(/:(80|443)$/, "");
}

/** Origins of the pages that may call the service beside those that it serves itself. */
export function allowedOrigins(settings: Pick<Settings, "public_url" | "allowed_origins">): string[] {
  const served = settings.public_url === undefined ? [] : [new URL(settings.public_url).origin];
  return [...served, ...settings.allowed_origins.map((text) => text.replace(/\/$/, "").toLowerCase())];
}

/**
 * Refuses a request that a browser sends for a foreign page. A request without Origin and Sec-Fetch-Site does not come from a browser.
 * @throws MucastError forbidden.
 */
export function checkOrigin(
  { headers, routeOptions, method }: FastifyRequest,
  allowed: readonly string[],
): void {
  const { origin, host } = headers;
  if (origin !== undefined) {
    // Without the scheme: a proxy may end TLS, and then the page is https and the request http.
    const isOwn =
      host !== undefined && origin.replace(/^https?:\/\//i, "").toLowerCase() === host.toLowerCase();
    if (isOwn || allowed.includes(origin.toLowerCase())) return;
    throw foreign(`pages of ${show(origin)} may not call this service`);
  }
  const site = headers["sec-fetch-site"];
  if (site === undefined || site === "same-origin" || site === "none") return;
  const isLink = headers["sec-fetch-mode"] === "navigate" && (method === "GET" || method === "HEAD");
  if (isLink && routeOptions.config?.isPage) return;
  throw foreign("pages of other sites may not call this service");
}

function foreign(reason: string): MucastError {
  return new MucastError("forbidden", `${reason}; its operator may add an origin to MUCAST_ALLOWED_ORIGINS`, {
    path: "Origin",
    title: "Pages of this origin may not call the service",
    advice:
      "Open a page of the service itself, or ask its operator to add the origin to MUCAST_ALLOWED_ORIGINS.",
  });
}
