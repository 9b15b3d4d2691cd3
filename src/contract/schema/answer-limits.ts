import { boundedCopy, jsonBytes } from "../json/bounded-json.ts";

/**
 * The largest size of each part of an answer, in bytes of JSON in UTF-8; docs/http.md states them. A longer list is cut to the entries
 * that fit, with counts of all.
 */
export const SIZES = {
  text: 4 * 2 ** 10,
  detail: 16 * 2 ** 10,
  list: 48 * 2 ** 10,
  problem: 96 * 2 ** 10,
  operation: 224 * 2 ** 10,
  epochs: 192 * 2 ** 10,
  /** All lists in the answer of get_forecast together. */
  forecast: 64 * 2 ** 10,
  event: 256 * 2 ** 10,
  listedPart: 8 * 2 ** 10,
  listedText: 2 ** 10,
  page: 2 ** 20,
  verdict: 3 * 2 ** 20,
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

export function countCodes(entries: Iterable<{ readonly code: string }>): CodeCounts {
  const counts: Record<string, number> = {};
  for (const { code } of entries) counts[code] = (counts[code] ?? 0) + 1;
  return counts;
}

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
