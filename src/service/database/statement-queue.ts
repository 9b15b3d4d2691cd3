import { setImmediate as nextTurn } from "node:timers/promises";

/**
 * Runs statements one after the other, each in its own turn of the event loop. PGlite computes and never waits for I/O, so
 * without this it would hold the loop until no statement is left. Then the service would answer one request completely before
 * it reads the next one, and the newest connections would wait longest, since the loop accepts one a turn.
 */
export class StatementQueue {
  #last: Promise<unknown> = Promise.resolve();

  /** Runs `body` after all earlier ones. @returns its result, or throws its error. */
  run<T>(body: () => Promise<T>): Promise<T> {
    const turn = this.#last.then(body);
    const over = () => nextTurn();
    this.#last = turn.then(over, over);
    return turn;
  }
}
