import { MucastError } from "../../contract/errors/errors.ts";
import { isLoopbackName } from "../../contract/machine/loopback.ts";
import type { WebhookTarget } from "../../contract/settings.ts";
import type { Queryable } from "../database/database.ts";
import type { Log } from "../telemetry/log.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";
import {
  claimDeliveries,
  type DueDelivery,
  markDelivered,
  markFailed,
  markForLater,
  releaseDelivery,
} from "./deliveries.ts";
import { cloudEvent, eventId, type PostOutcome, postEvent } from "./post-event.ts";

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
 * @throws MucastError like checkTargets.
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

interface DelivererParts {
  readonly database: Queryable;
  readonly targets: readonly WebhookTarget[];
  /** `source` of the CloudEvents: the public URL of the service, or a URN. */
  readonly source: string;
  readonly log: Log;
  readonly telemetry: Pick<Telemetry, "delivery">;
  readonly pace?: Pace;
}

/** The times of deliveries. */
export interface Pace {
  /** The pause between two claims. */
  readonly claimMilliseconds: number;
  /** Maximum duration of an attempt. */
  readonly timeoutMilliseconds: number;
  /** How long deliveries in progress may continue when the service closes. */
  readonly closeMilliseconds: number;
  /** Seconds until the next attempt, by number of attempts; the longest such delay if `random` is 1. */
  readonly retryDelay: (attempts: number, random?: number) => number;
}

/** Maximum number of parallel deliveries to one target. */
const MAX_CONCURRENT = 8;

/** Sends the due deliveries of one target, until it is closed. */
class TargetDeliverer {
  readonly #parts: DelivererParts;
  readonly #target: WebhookTarget;
  readonly #pace: Pace;
  readonly #aborting = new AbortController();
  readonly #running: Promise<void>;
  #isClosing = false;
  #isWoken = false;
  readonly #sending = new Set<Promise<void>>();
  /** The last claim got as many deliveries as it asked for. */
  #mayBeMore = false;
  #cutPauseShort: () => void = () => undefined;

  constructor(parts: DelivererParts, target: WebhookTarget, pace: Pace) {
    this.#parts = parts;
    this.#target = target;
    this.#pace = pace;
    this.#running = this.#run();
  }

  wake(): void {
    this.#isWoken = true;
    this.#cutPauseShort();
  }

  async close(): Promise<void> {
    this.#isClosing = true;
    this.#cutPauseShort();
    const late = setTimeout(() => this.#aborting.abort(), this.#pace.closeMilliseconds);
    await this.#running;
    clearTimeout(late);
  }

  async #run(): Promise<void> {
    while (!this.#isClosing) {
      this.#isWoken = false;
      const room = MAX_CONCURRENT - this.#sending.size;
      const claimed = room === 0 ? 0 : await this.#claim(room);
      this.#mayBeMore = claimed === room;
      // A delivery may have ended during the claim.
      const isRoomForMore = this.#mayBeMore && this.#sending.size < MAX_CONCURRENT;
      if (!isRoomForMore && !this.#isWoken && !this.#isClosing) await this.#pause();
    }
    await Promise.all(this.#sending);
  }

  #pause(): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, this.#pace.claimMilliseconds);
      this.#cutPauseShort = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  /** Claims due deliveries and starts them. @returns their number. */
  async #claim(room: number): Promise<number> {
    const { database } = this.#parts;
    const { name: target } = this.#target;
    // Twice the duration of an attempt, so that no other service starts the delivery in the meantime.
    const leaseSeconds = (2 * this.#pace.timeoutMilliseconds) / 1_000;
    try {
      const due = await claimDeliveries(database, { target, most: room, leaseSeconds });
      for (const delivery of due) this.#begin(delivery);
      return due.length;
    } catch (error) {
      this.#parts.log.warn({ err: error, target }, "deliveries could not be read");
      return 0;
    }
  }

  /** Runs beside the other deliveries, so that a slow one does not delay them. */
  #begin(delivery: DueDelivery): void {
    const delivering = this.#deliver(delivery).finally(() => {
      this.#sending.delete(delivering);
      if (this.#mayBeMore) this.wake();
    });
    this.#sending.add(delivering);
  }

  async #deliver(delivery: DueDelivery): Promise<void> {
    const { operation_id, seq, attempts } = delivery;
    const fields = { operation_id, seq, target: this.#target.name, attempts };
    try {
      await this.#store(delivery, await this.#post(delivery), fields);
    } catch (error) {
      this.#parts.log.warn({ err: error, ...fields }, "the outcome of a delivery could not be stored");
    }
  }

  async #post(delivery: DueDelivery): Promise<DeliveryEnd> {
    if (!delivery.event) return { kind: "not_kept" };
    const { url, secret } = this.#target;
    const { timeoutMilliseconds } = this.#pace;
    const body = cloudEvent(delivery, this.#parts.source);
    const id = eventId(delivery.operation_id, delivery.seq);
    return postEvent({ url, secret, id, body, timeoutMilliseconds, signal: this.#aborting.signal });
  }

  async #store(delivery: DueDelivery, end: DeliveryEnd, fields: object): Promise<void> {
    const { database, log, telemetry } = this.#parts;
    switch (end.kind) {
      case "aborted":
        return releaseDelivery(database, delivery);
      case "accepted":
        telemetry.delivery(this.#target.name, "delivered");
        log.debug(fields, "an event was delivered");
        return markDelivered(database, delivery);
      case "failed":
        if (delivery.attempts < MAX_ATTEMPTS) return this.#retryLater(delivery, end.reason, fields);
        return this.#fail(delivery, end.reason, fields);
      case "gone":
        return this.#fail(delivery, "answered with status 410: the receiver does not want the event", fields);
      case "not_kept":
        return this.#fail(delivery, "the event is no longer kept", fields);
      default:
        end satisfies never;
    }
  }

  async #retryLater(delivery: DueDelivery, reason: string, fields: object): Promise<void> {
    const { database, log, telemetry } = this.#parts;
    const seconds = this.#pace.retryDelay(delivery.attempts);
    telemetry.delivery(this.#target.name, "retried");
    log.info(
      { ...fields, reason, seconds: Math.round(seconds) },
      "an event was not delivered, and is tried again",
    );
    return markForLater(database, delivery, seconds, reason);
  }

  async #fail(delivery: DueDelivery, reason: string, fields: object): Promise<void> {
    const { database, log, telemetry } = this.#parts;
    telemetry.delivery(this.#target.name, "failed");
    log.warn({ ...fields, reason }, "an event was not delivered and will not be retried");
    return markFailed(database, delivery, reason);
  }
}

/** How an attempt at a delivery ended. `not_kept`: retention has removed the event. */
type DeliveryEnd = PostOutcome | { readonly kind: "not_kept" };

/** Maximum number of attempts at one delivery; they take about 23 hours including the delays between them. */
export const MAX_ATTEMPTS = 12;

const FIRST_SECONDS = 5;
const GROWTH = 3;
const MAX_SECONDS = 6 * 3_600;
const JITTER = 0.2;

/**
 * The delay after failed attempt number `attempts`, seconds: 5, 15, 45, … up to 6 hours, each up to a fifth longer or shorter, so
 * that deliveries that failed together are not repeated together.
 * @param random from 0 to 1.
 */
export function retryDelay(attempts: number, random = Math.random()): number {
  const seconds = Math.min(MAX_SECONDS, FIRST_SECONDS * GROWTH ** (attempts - 1));
  return seconds * (1 - JITTER + 2 * JITTER * random);
}
