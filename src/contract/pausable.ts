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
