import { setTimeout as pause } from "node:timers/promises";
import type { TransferLimits } from "../transfer-limits.ts";

/** Counts the failures of one request in a row, and pauses between its attempts. */
export class Retry {
  failures = 0;
  readonly #limits: TransferLimits;

  constructor(limits: TransferLimits) {
    this.#limits = limits;
  }

  /** Counts a failure. @returns false if there is no further attempt. */
  another(): boolean {
    this.failures += 1;
    return this.failures < this.#limits.attempts;
  }

  /** Waits before the next attempt: longer after each failure, and a little at random. @throws if the signal aborts. */
  async pause(signal: AbortSignal): Promise<void> {
    const factor = Math.min(16, 2 ** (this.failures - 1)) * (0.75 + Math.random() / 2);
    await pause(this.#limits.backoffMs * factor, undefined, { signal });
  }

  /** For an error message. */
  get note(): string {
    return this.failures > 1 ? ` (tried ${this.failures} times)` : "";
  }
}
