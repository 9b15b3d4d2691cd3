import { afterFreeTurns } from "../../free-turns.ts";

/**
 * Turns of the event loop for work that takes some milliseconds of it: to parse and check a body, or to write a page. The requests of
 * many connections often arrive together: without turns, every other request would wait for all of them.
 *
 * A turn of the loop begins the next piece of work of one caller, and callers alternate. Some turns without such work follow
 * it, in which the loop accepts connections.
 */
export class LoopTurns {
  /** For each caller, the functions that start its work. The caller whose turn is next comes first. */
  readonly #waiting = new Map<string, (() => void)[]>();
  #isScheduled = false;

  /** @returns when the next piece of work of the caller may start: in a later turn of the event loop. */
  next(caller: string): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const own = this.#waiting.get(caller);
    if (own === undefined) this.#waiting.set(caller, [resolve]);
    else own.push(resolve);
    this.#schedule();
    return promise;
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#begin();
      afterFreeTurns(() => {
        this.#isScheduled = false;
        if (this.#waiting.size > 0) this.#schedule();
      });
    });
  }

  #begin(): void {
    const [first] = this.#waiting;
    if (first === undefined) return;
    const [caller, own] = first;
    const begin = own.shift();
    this.#waiting.delete(caller);
    if (own.length > 0) this.#waiting.set(caller, own);
    begin?.();
  }
}

/** One for the process: all routes share its event loop. */
export const loopTurns = new LoopTurns();
