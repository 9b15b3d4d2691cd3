import { setTimeout as pause } from "node:timers/promises";
import type { TransferLimits } from "../transfer-limits.ts";

/** How often something failed in a row, and the pauses between its tries. */
export class Retry {
  failures = 0;
  readonly #limits: TransferLimits;

  constructor(limits: TransferLimits) {
    this.#limits = limits;
  }

  /** Counts a failure. @returns false where there is no further try. */
  another(): boolean {
    this.failures += 1;
    return this.failures < this.#limits.attempts;
  }

  /** Waits before the next try: longer after each failure, and a little at random. @throws where the signal aborts. */
  async pause(signal: AbortSignal): Promise<void> {
    const factor = Math.min(16, 2 ** (this.failures - 1)) * (0.75 + Math.random() / 2);
    await pause(this.#limits.backoffMs * factor, undefined, { signal });
  }

  /** For the words of an error. */
  get note(): string {
    return this.failures > 1 ? ` (tried ${this.failures} times)` : "";
  }
}
