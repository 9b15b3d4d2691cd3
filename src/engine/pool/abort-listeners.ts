/**
 * Calls the waiters of an AbortSignal through a single listener per signal: a signal searches all its listeners whenever it gets another
 * one, which takes longer than the fits if ten thousand tasks wait.
 */
export class AbortListeners {
  readonly #bySignal = new Map<
    AbortSignal,
    { readonly acts: Set<() => void>; readonly onAbort: () => void }
  >();

  add(signal: AbortSignal, act: () => void): void {
    const known = this.#bySignal.get(signal);
    if (known) {
      known.acts.add(act);
      return;
    }
    const acts = new Set([act]);
    const onAbort = () => {
      for (const one of acts) one();
    };
    this.#bySignal.set(signal, { acts, onAbort });
    signal.addEventListener("abort", onAbort, { once: true });
  }

  remove(signal: AbortSignal, act: () => void): void {
    const known = this.#bySignal.get(signal);
    known?.acts.delete(act);
    if (known?.acts.size !== 0) return;
    this.#bySignal.delete(signal);
    signal.removeEventListener("abort", known.onAbort);
  }
}
