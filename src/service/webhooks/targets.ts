import { MucastError } from "../../contract/errors/errors.ts";
import type { WebhookTarget } from "../../contract/settings.ts";

/**
 * Refuses targets that events may not be sent to. Private addresses are allowed, since only the operator names
 * targets; what goes over a network is encrypted.
 * @throws MucastError invalid_request: http to another host than this one, two targets of one name.
 */
export function checkTargets(targets: readonly WebhookTarget[]): void {
  for (const [index, { name, url }] of targets.entries()) {
    const path = `webhooks[${index}]`;
    const { protocol, hostname } = new URL(url);
    if (protocol === "http:" && !isLoopback(hostname)) {
      throw refused(
        `${path}.url`,
        `the target ${name} has an http URL; use https, http is for this machine alone`,
      );
    }
    if (targets.findIndex((other) => other.name === name) < index) {
      throw refused(`${path}.name`, `two targets are called ${name}; give each a name of its own`);
    }
  }
}

function refused(path: string, message: string): MucastError {
  return new MucastError("invalid_request", `${path}: ${message}`, { path });
}

/** URL has made one spelling of every way to write an IPv4 address. */
function isLoopback(hostname: string): boolean {
  return hostname === "localhost" || hostname === "[::1]" || /^127\.\d+\.\d+\.\d+$/.test(hostname);
}
