import type { DelivererParts, Pace } from "./deliverer-parts.ts";
import { retryDelay } from "./retry-delay.ts";
import { TargetDeliverer } from "./target-deliverer.ts";
import { checkTargets } from "./targets.ts";

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
