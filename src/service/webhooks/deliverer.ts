import { MucastError } from "../../contract/errors/errors.ts";
import type { WebhookTarget } from "../../contract/settings.ts";
import { type DelivererParts, type Pace, retryDelay, TargetDeliverer } from "./target-deliverer.ts";

const PACE: Pace = {
  lookMilliseconds: 5_000,
  timeoutMilliseconds: 15_000,
  closeMilliseconds: 3_000,
  retryDelay,
};

/** Sends stored events to the operator's targets, at least once each, in no promised order. */
export interface Deliverer {
  /** Looks for deliveries that are due, now. */
  wake(): void;
  /** Ends within a few seconds; what was not sent is sent by the next service, or after the next start. */
  close(): Promise<void>;
}

/**
 * Begins to deliver. One target that is slow or away holds up no other; several services share the work.
 * @throws MucastError as checkTargets.
 */
export function startDeliverer(parts: DelivererParts): Deliverer {
  checkTargets(parts.targets);
  const pace = parts.pace ?? PACE;
  const deliverers = parts.targets.map((target) => new TargetDeliverer(parts, target, pace));
  return {
    wake: () => {
      for (const deliverer of deliverers) deliverer.wake();
    },
    close: async () => {
      await Promise.all(deliverers.map((deliverer) => deliverer.close()));
    },
  };
}

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
