import { setImmediate as nextTurn } from "node:timers/promises";

/**
 * Pure work that can be paused: a generator that yields every few milliseconds of work, and returns its result. What it
 * yields is how many units of progress the step has done; 0 for a pause within one.
 */
export type Pausable<T> = Generator<number, T, void>;

/** Does the work without a pause. */
export function atOnce<T>(work: Pausable<T>): T {
  for (;;) {
    const step = work.next();
    if (step.done === true) return step.value;
  }
}

/** Long enough that giving way costs nothing that can be measured, short enough that a signal is met at once. */
const TURN_MILLISECONDS = 25;

/**
 * Shares the main thread during long work: after each turn, timers, streams and signals of the process are served, and
 * the work ends where its AbortSignal is aborted.
 */
export class Turns {
  readonly #signal: AbortSignal | undefined;
  readonly #clock: () => number;
  #since: number;

  /** @param clock milliseconds; another one is for tests. */
  constructor(signal: AbortSignal | undefined, clock: () => number = () => performance.now()) {
    this.#signal = signal;
    this.#clock = clock;
    this.#since = clock();
  }

  /** Whether it is time to give way. */
  get isOver(): boolean {
    return this.#clock() - this.#since >= TURN_MILLISECONDS;
  }

  /** Gives way where it is time to. @throws the reason of the signal where that is aborted. */
  async giveWay(): Promise<void> {
    if (this.isOver) await this.end();
  }

  /** Gives way. @throws the reason of the signal where that is aborted. */
  async end(): Promise<void> {
    await nextTurn();
    this.#since = this.#clock();
    this.#signal?.throwIfAborted();
  }
}

/**
 * Does pausable work turn by turn.
 * @param onTurn called between two turns, with the units done so far.
 * @throws the reason of `signal` where that is aborted before the work is over; what the work throws.
 */
export async function inTurns<T>(
  work: Pausable<T>,
  signal: AbortSignal | undefined,
  onTurn: (done: number) => void = () => undefined,
): Promise<T> {
  const turns = new Turns(signal);
  let done = 0;
  for (;;) {
    const step = work.next();
    if (step.done === true) {
      // A signal that came during the last turn counts as well.
      await turns.end();
      return step.value;
    }
    done += step.value;
    if (!turns.isOver) continue;
    onTurn(done);
    await turns.end();
  }
}
