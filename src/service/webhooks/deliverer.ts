import { MucastError } from "../../contract/errors/errors.ts";
import { isLoopbackName } from "../../contract/machine/loopback.ts";
import type { WebhookTarget } from "../../contract/settings.ts";
import { type DelivererParts, type Pace, retryDelay, TargetDeliverer } from "./target-deliverer.ts";

const PACE: Pace = {
  claimMilliseconds: 5_000,
  timeoutMilliseconds: 15_000,
  closeMilliseconds: 3_000,
  retryDelay,
};

/** Sends stored events to the operator's targets, each at least once, in no guaranteed order. */
interface Deliverer {
  /** Claims due deliveries now. */
  wake(): void;
  /** Closes within a few seconds. Another service sends the rest, or this one after its next start. */
  close(): Promise<void>;
}

/**
 * Starts to deliver. A slow or unreachable target does not delay others. Several services share the deliveries.
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
 * Checks the targets. Allows private addresses, since only the operator names targets; requires https for every other machine.
 * @throws MucastError invalid_request: http to another machine, two targets with one name.
 */
export function checkTargets(targets: readonly WebhookTarget[]): void {
  for (const [index, { name, url }] of targets.entries()) {
    const path = `webhooks[${index}]`;
    const { protocol, hostname } = new URL(url);
    if (protocol === "http:" && !isLoopbackName(hostname)) {
      throw refused(
        `${path}.url`,
        `the target ${name} has an http URL; use https, http is for this machine alone`,
      );
    }
    if (targets.findIndex((other) => other.name === name) < index) {
      throw refused(`${path}.name`, `two targets are called ${name}; give each a different name`);
    }
  }
}

function refused(path: string, message: string): MucastError {
  return new MucastError("invalid_request", `${path}: ${message}`, { path });
}
