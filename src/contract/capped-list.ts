import { boundedCopy, jsonBytes } from "./bounded-json.ts";
import { LISTED_AT_MOST, SIZES } from "./sizes.ts";

/** The first warnings, or failures, that are told one by one, and how many there are of each code. */
export class CappedList<T extends { readonly code: string }> {
  /** No more than may be listed, and of no more bytes; long texts are cut. */
  readonly entries: T[] = [];
  /** Of all, listed or not. */
  readonly counts: Record<string, number> = {};
  #room = SIZES.list - 2;

  /** @param first entries to begin with. */
  constructor(first: Iterable<T> = []) {
    for (const entry of first) this.add(entry);
  }

  /** @returns the entry as it is listed; undefined where the list is full. */
  add(entry: T): T | undefined {
    this.counts[entry.code] = (this.counts[entry.code] ?? 0) + 1;
    if (this.entries.length === LISTED_AT_MOST || this.#room === 0) return undefined;
    const listed = boundedCopy([entry], { bytes: this.#room, text: SIZES.text })?.[0];
    if (listed === undefined) {
      // Those that are listed are the first: a later, smaller one is not taken for one of them.
      this.#room = 0;
      return undefined;
    }
    this.#room = Math.max(0, this.#room - jsonBytes(listed) - 1);
    this.entries.push(listed);
    return listed;
  }
}
