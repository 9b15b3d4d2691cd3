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

/** Deliveries to one target that are under way at the same time. */
const AT_A_TIME = 8;

/** Sends what is due to one target, until it is closed. */
export class TargetDeliverer {
  readonly #parts: DelivererParts;
  readonly #target: WebhookTarget;
  readonly #pace: Pace;
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;
  #isClosing = false;
  #isWoken = false;
  readonly #underWay = new Set<Promise<void>>();
  /** The last look found as many as there was room for. */
  #mayBeMore = false;
  #endRest: () => void = () => undefined;

  constructor(parts: DelivererParts, target: WebhookTarget, pace: Pace) {
    this.#parts = parts;
    this.#target = target;
    this.#pace = pace;
    this.#running = this.#run();
  }

  wake(): void {
    this.#isWoken = true;
    this.#endRest();
  }

  async close(): Promise<void> {
    this.#isClosing = true;
    this.#endRest();
    const late = setTimeout(() => this.#stop.abort(), this.#pace.closeMilliseconds);
    await this.#running;
    clearTimeout(late);
  }

  async #run(): Promise<void> {
    while (!this.#isClosing) {
      this.#isWoken = false;
      const room = AT_A_TIME - this.#underWay.size;
      const taken = room === 0 ? 0 : await this.#take(room);
      this.#mayBeMore = taken === room;
      // One has ended while the others were looked for.
      const isRoomForMore = this.#mayBeMore && this.#underWay.size < AT_A_TIME;
      if (!isRoomForMore && !this.#isWoken && !this.#isClosing) await this.#rest();
    }
    await Promise.all(this.#underWay);
  }

  #rest(): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, this.#pace.lookMilliseconds);
      this.#endRest = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  /** Begins with as many deliveries as are due and there is room for. @returns how many. */
  async #take(room: number): Promise<number> {
    const { database } = this.#parts;
    const { name: target } = this.#target;
    // Twice the time that a try may take: nobody else begins it meanwhile.
    const leaseSeconds = (2 * this.#pace.timeoutMilliseconds) / 1_000;
    try {
      const due = await claimDeliveries(database, { target, most: room, leaseSeconds });
      for (const delivery of due) this.#begin(delivery);
      return due.length;
    } catch (error) {
      this.#parts.log.warn({ err: error, target }, "deliveries could not be looked for");
      return 0;
    }
  }

  /** Side by side with the others: one that is slow holds up none of them. */
  #begin(delivery: DueDelivery): void {
    const delivering = this.#deliver(delivery).finally(() => {
      this.#underWay.delete(delivering);
      if (this.#mayBeMore) this.wake();
    });
    this.#underWay.add(delivering);
  }

  async #deliver(delivery: DueDelivery): Promise<void> {
    const { operation_id, seq, attempts } = delivery;
    const fields = { operation_id, seq, target: this.#target.name, attempts };
    try {
      await this.#writeDown(delivery, await this.#post(delivery), fields);
    } catch (error) {
      this.#parts.log.warn({ err: error, ...fields }, "what became of a delivery could not be stored");
    }
  }

  async #post(delivery: DueDelivery): Promise<PostOutcome | { kind: "not_kept" }> {
    if (!delivery.event) return { kind: "not_kept" };
    const { url, secret } = this.#target;
    const { timeoutMilliseconds } = this.#pace;
    const body = cloudEvent(delivery, this.#parts.source);
    const id = eventId(delivery.operation_id, delivery.seq);
    return postEvent({ url, secret, id, body, timeoutMilliseconds, signal: this.#stop.signal });
  }

  async #writeDown(
    delivery: DueDelivery,
    outcome: PostOutcome | { kind: "not_kept" },
    fields: object,
  ): Promise<void> {
    const { database, log, telemetry } = this.#parts;
    const { name } = this.#target;
    if (outcome.kind === "given_up") return releaseDelivery(database, delivery);
    if (outcome.kind === "taken") {
      telemetry.delivery(name, "delivered");
      log.debug(fields, "an event was delivered");
      return markDelivered(database, delivery);
    }
    const reason = outcome.kind === "failed" ? outcome.reason : REASONS[outcome.kind];
    if (outcome.kind === "failed" && delivery.attempts < MOST_TRIES) {
      const seconds = this.#pace.retryDelay(delivery.attempts);
      telemetry.delivery(name, "retried");
      log.info(
        { ...fields, reason, seconds: Math.round(seconds) },
        "an event was not delivered, and is tried again",
      );
      return markForLater(database, delivery, seconds, reason);
    }
    telemetry.delivery(name, "failed");
    log.warn({ ...fields, reason }, "an event was not delivered, and is not tried again");
    return markFailed(database, delivery, reason);
  }
}

const REASONS = {
  gone: "answered with status 410: the receiver wants no more of it",
  not_kept: "the event is no longer kept",
} as const;

/** What deliveries are made with. */
export interface DelivererParts {
  readonly database: Queryable;
  readonly targets: readonly WebhookTarget[];
  /** `source` of the events: the public URL of the service, or a URN. */
  readonly source: string;
  readonly log: Log;
  readonly telemetry: Pick<Telemetry, "delivery">;
  readonly pace?: Pace;
}

/** How fast deliveries are looked for, given up and tried again. */
export interface Pace {
  readonly lookMilliseconds: number;
  readonly timeoutMilliseconds: number;
  /** At its end, what is under way may take this long. */
  readonly closeMilliseconds: number;
  /** Seconds until the next try, after so many. */
  readonly retryDelay: (tries: number) => number;
}

/** Tries of one delivery, the first one among them; with the delays between them about 23 hours. */
export const MOST_TRIES = 12;

const FIRST_SECONDS = 5;
const GROWTH = 3;
const LONGEST_SECONDS = 6 * 3_600;
const JITTER = 0.2;

/**
 * How long to wait after the `tries`-th try has failed, seconds: 5, 15, 45, … up to 6 hours, each up to a fifth longer
 * or shorter, so that what failed together does not come back together.
 * @param random from 0 to 1.
 */
export function retryDelay(tries: number, random = Math.random()): number {
  const seconds = Math.min(LONGEST_SECONDS, FIRST_SECONDS * GROWTH ** (tries - 1));
  return seconds * (1 - JITTER + 2 * JITTER * random);
}
