import type { ServerResponse } from "node:http";
import { MucastError } from "../../contract/errors/errors.ts";

/** Room for a stream of events for each of a caller's jobs in the queue, with some to spare. */
const MOST_OPEN = 2_000;
const RETRY_SECONDS = 5;

/**
 * How many requests of each caller are being answered. A rate bounds how fast they come; streams of events and waits
 * last, and each costs memory and looks at the database.
 */
export class OpenRequests {
  readonly #most: number;
  readonly #open = new Map<string, number>();

  constructor(most = MOST_OPEN) {
    this.#most = most;
  }

  /** Counts a request until its connection is done with it. @throws MucastError rate_limited. */
  begin(subject: string, response: Pick<ServerResponse, "once" | "destroyed">): void {
    // Nobody is there any more, and no end would be heard of.
    if (response.destroyed) return;
    const open = this.#open.get(subject) ?? 0;
    if (open >= this.#most) {
      const message = `${this.#most} requests of this caller are being answered already`;
      throw new MucastError("rate_limited", message, { retryAfter: RETRY_SECONDS });
    }
    this.#open.set(subject, open + 1);
    response.once("close", () => this.#end(subject));
  }

  #end(subject: string): void {
    const open = this.#open.get(subject)! - 1;
    if (open === 0) this.#open.delete(subject);
    else this.#open.set(subject, open);
  }
}
