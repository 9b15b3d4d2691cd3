import { boundedCopy, jsonBytes } from "../json/bounded-json.ts";

/**
 * The largest size of each part of an answer, in bytes of JSON text in UTF-8; docs/http.md states them. If a list is longer, the answer
 * contains as many of its first entries as fit, and counts of all.
 */
export const SIZES = {
  /** A text of a warning, a failure or a problem. */
  text: 4 * 2 ** 10,
  /** `detail` of a problem, which may contain all faults of a request. */
  detail: 16 * 2 ** 10,
  list: 48 * 2 ** 10,
  problem: 96 * 2 ** 10,
  operation: 224 * 2 ** 10,
  epochs: 192 * 2 ** 10,
  /** All lists in the answer of get_forecast together. */
  forecast: 64 * 2 ** 10,
  event: 256 * 2 ** 10,
  /** The warnings, the failures or the error of an operation in a page, and a text in them. */
  listedPart: 8 * 2 ** 10,
  listedText: 2 ** 10,
  /** A page of operations, which has at least one operation. */
  page: 2 ** 20,
  /** The blob of a verdict in an answer: far more than one has with the maximum number of findings. */
  verdict: 3 * 2 ** 20,
  /** All feature names of prepared blobs; the answer contains each of them. */
  features: 3 * 2 ** 20,
  /** The tickers of a preview. */
  previewed: 2 * 2 ** 20,
  /** The text for an agent that accompanies the structured answer of a tool. */
  toolText: 128 * 2 ** 10,
  statusBlob: 2 ** 20,
} as const;

/** Maximum number of warnings, and of failures, in an answer; the output lists all. */
export const MAX_LISTED = 200;

export type CodeCounts = Readonly<Record<string, number>>;

/** @returns counts by code, in the order in which the codes first appear. */
export function countCodes(entries: Iterable<{ readonly code: string }>): CodeCounts {
  const counts: Record<string, number> = {};
  for (const { code } of entries) counts[code] = (counts[code] ?? 0) + 1;
  return counts;
}

/** The warnings, or failures, that an answer lists: the first of them, with counts of all by code. */
export class CappedList<T extends { readonly code: string }> {
  /** At most MAX_LISTED entries and SIZES.list bytes; long texts are cut. */
  readonly entries: T[] = [];
  /** Of all entries, listed or not, by code. */
  readonly counts: Record<string, number> = {};
  #room = SIZES.list - 2;

  constructor(first: Iterable<T> = []) {
    for (const entry of first) this.add(entry);
  }

  /** @returns the entry with its long texts cut, as listed; undefined if the list is full. */
  add(entry: T): T | undefined {
    this.counts[entry.code] = (this.counts[entry.code] ?? 0) + 1;
    if (this.entries.length === MAX_LISTED || this.#room === 0) return undefined;
    const listed = boundedCopy([entry], { bytes: this.#room, text: SIZES.text })?.[0];
    if (listed === undefined) {
      // The list has the first entries: once one does not fit, no later, smaller one is added.
      this.#room = 0;
      return undefined;
    }
    this.#room = Math.max(0, this.#room - jsonBytes(listed) - 1);
    this.entries.push(listed);
    return listed;
  }
}
