import { setImmediate as nextTurn } from "node:timers/promises";

/**
 * Does one thing after the other, in the order they were asked for, and each in its own turn of the event loop. What
 * only computes and never waits for anything outside, as PGlite does, would otherwise keep the loop until nothing is
 * left to do: a request that has just been read would be answered whole before the next one is read, and since a
 * loop takes one new connection a turn, those that came last would wait for all work of those before them.
 */
export class Turns {
  #last: Promise<unknown> = Promise.resolve();

  /** @returns what `body` gives; what it throws is thrown here alone. */
  take<T>(body: () => Promise<T>): Promise<T> {
    const turn = this.#last.then(body);
    const over = () => nextTurn();
    this.#last = turn.then(over, over);
    return turn;
  }
}
