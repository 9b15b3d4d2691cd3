import { boundedCopy, jsonBytes } from "../json/bounded-json.ts";

/**
 * Sizes at most of what a service tells, in bytes of JSON text in UTF-8; docs/http.md states them. Where there is more, as
 * many of the first entries are told as have room, with counts of all.
 */
export const SIZES = {
  /** A text of a warning, a failure or a problem. */
  text: 4 * 2 ** 10,
  /** What a problem says in its `detail`, which may be all faults of a request. */
  detail: 16 * 2 ** 10,
  /** The warnings, or the failures, of an operation. */
  list: 48 * 2 ** 10,
  problem: 96 * 2 ** 10,
  operation: 224 * 2 ** 10,
  /** Epochs that are told at once. */
  epochs: 192 * 2 ** 10,
  /** The lists of a forecast's answer together. */
  forecast: 64 * 2 ** 10,
  event: 256 * 2 ** 10,
  /** A page of operations; one operation is always on it. */
  page: 2 ** 20,
  statusBlob: 2 ** 20,
} as const;

/** Most warnings, and most failures, that are told one by one; the output lists all. */
export const LISTED_AT_MOST = 200;

/** How many there are of each code. */
export type CodeCounts = Readonly<Record<string, number>>;

/** @returns counts by code, in the order in which the codes first come. */
export function countCodes(entries: Iterable<{ readonly code: string }>): CodeCounts {
  const counts: Record<string, number> = {};
  for (const { code } of entries) counts[code] = (counts[code] ?? 0) + 1;
  return counts;
}

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
