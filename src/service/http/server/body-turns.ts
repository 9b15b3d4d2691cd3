/**
 * Turns of the event loop for reading bodies. To parse and check a large body takes the loop for some milliseconds, and the
 * bodies of many connections often come at the same time: without turns, every other request waits for all of them.
 *
 * In each turn of the loop the next body of one caller begins, and callers alternate.
 */
export class BodyTurns {
  /** Of each caller, what begins its bodies. The caller whose turn is next comes first. */
  readonly #waiting = new Map<string, (() => void)[]>();
  #isScheduled = false;

  /** @returns once the next body of the caller may be read: in a later turn of the event loop. */
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
      this.#isScheduled = false;
      this.#begin();
      if (this.#waiting.size > 0) this.#schedule();
    });
  }

  #begin(): void {
    const [first] = this.#waiting;
    if (first === undefined) return;
    const [caller, bodies] = first;
    const begin = bodies.shift();
    this.#waiting.delete(caller);
    if (bodies.length > 0) this.#waiting.set(caller, bodies);
    begin?.();
  }
}
