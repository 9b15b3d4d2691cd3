import type { Settings } from "../../contract/settings.ts";
import { isLoopbackName } from "../auth/loopback.ts";

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
export class OwnHosts {
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
