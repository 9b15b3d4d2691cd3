import type { Execution, ExecutionEnd, StopReason } from "../executor.ts";
import { ApiFault, type ExecutionPoll, type StopCode } from "./execution-poll.ts";

/** How to watch an execution. */
interface WatchOptions {
  /** Milliseconds between two polls, plus or minus a tenth. */
  readonly pollMs: number;
  /** Called when a poll or a stop fails, once per distinct message in a row; the execution continues. The message contains no secret. */
  readonly onPollFailed: (message: string) => void;
}

/** The longest pause between failed polls, in intervals. */
const MAX_BACKOFF = 12;

/** An execution that is polled until it ends. A failed poll never ends it. */
export class WatchedExecution implements Execution {
  readonly handle: string;
  readonly ended: Promise<ExecutionEnd>;
  readonly #poll: ExecutionPoll;
  readonly #options: WatchOptions;
  readonly #detached = new AbortController();
  #stopCode: StopCode | undefined;
  /** Failed polls in a row. */
  #failed = 0;
  /** The last failure message in that row. */
  #reported: string | undefined;
  #cutPauseShort: () => void = () => undefined;

  constructor(handle: string, poll: ExecutionPoll, options: WatchOptions) {
    this.handle = handle;
    this.#poll = poll;
    this.#options = options;
    this.ended = new Promise((settle) => void this.#follow(settle));
  }

  /** `draining` detaches from the execution and leaves it running. */
  stop(reason: StopReason): void {
    if (reason === "draining") {
      this.detach();
      return;
    }
    this.#stopCode ??= reason;
    this.#cutPauseShort();
  }

  /** Stops polling. The execution continues, and `ended` stays pending: a service that adopts its handle learns how it ends. */
  detach(): void {
    this.#detached.abort();
  }

  async #follow(settle: (end: ExecutionEnd) => void): Promise<void> {
    const { signal } = this.#detached;
    while (!signal.aborted) {
      const before = this.#stopCode;
      try {
        const end = await this.#poll.once(() => this.#stopCode, signal);
        if (end !== undefined) return settle(end);
        this.#failed = 0;
        this.#reported = undefined;
        if (this.#stopCode === before) await this.#pause(this.#options.pollMs, true);
      } catch (error) {
        if (!signal.aborted) await this.#pause(this.#afterFailure(error), false);
      }
    }
  }

  /** Reports the failure. @returns milliseconds to wait, at least as long as the platform requests. */
  #afterFailure(error: unknown): number {
    const message = error instanceof Error ? error.message : String(error);
    if (message !== this.#reported) this.#options.onPollFailed(message);
    this.#reported = message;
    this.#failed += 1;
    const backoff = this.#options.pollMs * Math.min(2 ** this.#failed, MAX_BACKOFF);
    const retryAfterMs = error instanceof ApiFault ? (error.retryAfterMs ?? 0) : 0;
    return Math.max(backoff, retryAfterMs);
  }

  #pause(ms: number, mayBeCut: boolean): Promise<void> {
    const { signal } = this.#detached;
    return new Promise((resolve) => {
      const done = () => {
        clearTimeout(timer);
        signal.removeEventListener("abort", done);
        this.#cutPauseShort = () => undefined;
        resolve();
      };
      // Spreads the polls of services that start together.
      const timer = setTimeout(done, ms * (mayBeCut ? 0.9 + Math.random() / 5 : 1 + Math.random() / 5));
      signal.addEventListener("abort", done, { once: true });
      if (mayBeCut) this.#cutPauseShort = done;
    });
  }
}
