/** The entries of the largest size among all that are offered, at most so many; memory does not grow with the rest. */
export class Largest<T> {
  readonly #most: number;
  readonly #kept: { readonly entry: T; readonly size: number }[] = [];

  constructor(most: number) {
    this.#most = most;
  }

  /** Of equal sizes the one that was offered first comes first. */
  offer(entry: T, size: number): void {
    const kept = this.#kept;
    if (kept.length === this.#most && size <= kept.at(-1)!.size) return;
    const place = kept.findIndex((other) => other.size < size);
    kept.splice(place < 0 ? kept.length : place, 0, { entry, size });
    if (kept.length > this.#most) kept.pop();
  }

  /** The largest first. */
  entries(): T[] {
    return this.#kept.map(({ entry }) => entry);
  }
}
