import { MucastError } from "../../contract/errors/errors.ts";
import { isLoopbackName } from "../../contract/machine/loopback.ts";
import type { WebhookTarget } from "../../contract/settings.ts";
import type { Database } from "../database/database.ts";
import type { Leases } from "../queue/leases.ts";
import type { Log } from "../telemetry/log.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";
import { claimDeliveries, type DueDelivery, type Outcome, storeOutcome } from "./deliveries.ts";
import { cloudEvent, eventId, postEvent } from "./post-event.ts";

/** The times of deliveries. */
export interface Pace {
  /** The pause between two claims. */
  readonly claimMilliseconds: number;
  /** Maximum duration of an attempt. */
  readonly timeoutMilliseconds: number;
  /** How long deliveries in progress may continue when the service closes. */
  readonly closeMilliseconds: number;
  /** Seconds until the next attempt, by number of attempts. */
  readonly retryDelay: (attempts: number) => number;
}

const PACE: Pace = {
  claimMilliseconds: 5_000,
  timeoutMilliseconds: 15_000,
  closeMilliseconds: 3_000,
  retryDelay,
};

/** Maximum number of parallel deliveries to one target. */
const MAX_CONCURRENT = 8;

/** Maximum number of attempts at one delivery; they take about 23 hours including the delays between them. */
export const MAX_ATTEMPTS = 12;

/**
 * The delay after failed attempt number `attempts`, seconds: 5, 15, 45, … up to 6 hours, each up to a fifth longer or shorter, so
 * that deliveries that failed together are not repeated together.
 * @param random from 0 to 1.
 */
export function retryDelay(attempts: number, random = Math.random()): number {
  const seconds = Math.min(6 * 3_600, 5 * 3 ** (attempts - 1));
  return seconds * (0.8 + 0.4 * random);
}

interface DelivererParts {
  readonly database: Database;
  readonly leases: Leases;
  readonly targets: readonly WebhookTarget[];
  /** `source` of the CloudEvents: the public URL of the service, or a URN. */
  readonly source: string;
  readonly log: Log;
  readonly telemetry: Pick<Telemetry, "delivery">;
  readonly pace?: Pace;
}

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
  const deliverers = parts.targets.map((target) => new TargetDeliverer(parts, target));
  const isAtWork = (id: string) => deliverers.some((deliverer) => deliverer.isSending(id));
  if (deliverers.length > 0) parts.leases.watch("webhook_deliveries", { isAtWork });
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
    const refused = (member: string, message: string) => {
      const path = `webhooks[${index}].${member}`;
      return new MucastError("invalid_request", `${path}: ${message}`, { path });
    };
    const { protocol, hostname } = new URL(url);
    if (protocol === "http:" && !isLoopbackName(hostname))
      throw refused("url", `the target ${name} has an http URL; use https, http is for this machine alone`);
    if (targets.findIndex((other) => other.name === name) < index)
      throw refused("name", `two targets are called ${name}; give each a different name`);
  }
}

/** Sends the due deliveries of one target, until it is closed. */
class TargetDeliverer {
  readonly #parts: DelivererParts;
  readonly #target: WebhookTarget;
  readonly #pace: Pace;
  readonly #aborting = new AbortController();
  /** By the id of the delivery. */
  readonly #sending = new Map<string, Promise<void>>();
  readonly #timer: NodeJS.Timeout;
  #claiming: Promise<void> | undefined;
  #claimAgain = false;
  #isClosing = false;
  /** The last claim got as many deliveries as it asked for. */
  #mayBeMore = false;

  constructor(parts: DelivererParts, target: WebhookTarget) {
    this.#parts = parts;
    this.#target = target;
    this.#pace = parts.pace ?? PACE;
    this.#timer = setInterval(() => this.wake(), this.#pace.claimMilliseconds);
    this.wake();
  }

  wake(): void {
    this.#claimAgain = true;
    this.#claiming ??= this.#claim().finally(() => {
      this.#claiming = undefined;
      if (this.#claimAgain) this.wake();
    });
  }

  isSending(id: string): boolean {
    return this.#sending.has(id);
  }

  async close(): Promise<void> {
    this.#isClosing = true;
    clearInterval(this.#timer);
    const late = setTimeout(() => this.#aborting.abort(), this.#pace.closeMilliseconds);
    await this.#claiming;
    await Promise.all(this.#sending.values());
    clearTimeout(late);
  }

  async #claim(): Promise<void> {
    const { database, leases, log } = this.#parts;
    const { name: target } = this.#target;
    while (this.#claimAgain) {
      this.#claimAgain = false;
      const room = MAX_CONCURRENT - this.#sending.size;
      if (this.#isClosing || room === 0) return;
      try {
        const due = await claimDeliveries(database, leases.owner, target, room);
        this.#mayBeMore = due.length === room;
        for (const delivery of due) this.#begin(delivery);
      } catch (error) {
        log.warn({ err: error, target }, "deliveries could not be read");
      }
    }
  }

  /** Runs beside the other deliveries, so that a slow one does not delay them. */
  #begin(delivery: DueDelivery): void {
    const id = String(delivery.id);
    const delivering = this.#deliver(delivery).finally(() => {
      this.#sending.delete(id);
      if (this.#mayBeMore && !this.#isClosing) this.wake();
    });
    this.#sending.set(id, delivering);
  }

  async #deliver(delivery: DueDelivery): Promise<void> {
    const { database, log, telemetry } = this.#parts;
    const { operation_id, seq, attempt } = delivery;
    const fields = { operation_id, seq, target: this.#target.name, attempts: attempt };
    const outcome = await this.#post(delivery);
    switch (outcome.kind) {
      case "delivered":
        telemetry.delivery(this.#target.name, "delivered");
        log.debug(fields, "an event was delivered");
        break;
      case "again":
        telemetry.delivery(this.#target.name, "retried");
        log.info(
          { ...fields, reason: outcome.reason, seconds: Math.round(outcome.seconds) },
          "an event was not delivered, and is tried again",
        );
        break;
      case "failed":
        telemetry.delivery(this.#target.name, "failed");
        log.warn({ ...fields, reason: outcome.reason }, "an event was not delivered and will not be retried");
    }
    await storeOutcome(database, delivery, outcome).catch((error: unknown) =>
      log.warn({ err: error, ...fields }, "the outcome of a delivery could not be stored"),
    );
  }

  async #post(delivery: DueDelivery): Promise<Outcome> {
    if (!delivery.event) return { kind: "failed", reason: "the event is no longer kept" };
    const { url, secret } = this.#target;
    const { timeoutMilliseconds, retryDelay: delay } = this.#pace;
    const body = cloudEvent(delivery, this.#parts.source);
    const id = eventId(delivery.operation_id, delivery.seq);
    const end = await postEvent({
      url,
      secret,
      id,
      body,
      timeoutMilliseconds,
      signal: this.#aborting.signal,
    });
    switch (end.kind) {
      case "accepted":
        return { kind: "delivered" };
      case "gone":
        return { kind: "failed", reason: "answered with status 410: the receiver does not want the event" };
      case "failed":
        return delivery.attempt < MAX_ATTEMPTS
          ? { kind: "again", reason: end.reason, seconds: delay(delivery.attempt) }
          : end;
      case "aborted":
        return end;
    }
  }
}
