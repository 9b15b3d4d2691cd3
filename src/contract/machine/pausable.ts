import { setImmediate as nextTurn } from "node:timers/promises";

/**
 * Pure work that can be paused: a generator that yields every few milliseconds and returns its result. It yields the units of progress that
 * the step completed, 0 for a pause inside a unit.
 */
export type Pausable<T> = Generator<number, T, void>;

/** Runs the work to its end without a pause. */
export function atOnce<T>(work: Pausable<T>): T {
  for (;;) {
    const step = work.next();
    if (step.done === true) return step.value;
  }
}

/** Long enough for pauses to cost nothing measurable, short enough for a signal to take effect at once. */
const TURN_MILLISECONDS = 25;

/**
 * Shares the main thread during long work. After each turn the event loop serves timers, streams and signals, and the work ends if its
 * AbortSignal has been aborted.
 */
export class Turns {
  readonly #signal: AbortSignal | undefined;
  #since = performance.now();

  constructor(signal: AbortSignal | undefined) {
    this.#signal = signal;
  }

  /** Whether the turn has lasted long enough for a pause. */
  get isOver(): boolean {
    return performance.now() - this.#since >= TURN_MILLISECONDS;
  }

  /** Pauses if the turn is over. @throws the reason of the signal if that is aborted. */
  async pauseIfOver(): Promise<void> {
    if (this.isOver) await this.pause();
  }

  /** Pauses, and starts the next turn. @throws the reason of the signal if that is aborted. */
  async pause(): Promise<void> {
    await nextTurn();
    this.#since = performance.now();
    this.#signal?.throwIfAborted();
  }
}

/**
 * Runs pausable work turn by turn.
 * @param onTurn called between two turns with the units done so far.
 * @throws the reason of `signal` if that is aborted before the work is over; errors of the work.
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
      await turns.pause();
      return step.value;
    }
    done += step.value;
    if (!turns.isOver) continue;
    onTurn(done);
    await turns.pause();
  }
}
