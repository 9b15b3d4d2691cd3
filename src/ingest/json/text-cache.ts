import type { Day } from "../../contract/market/dates.ts";
import { dayOfText } from "../dates/date-text.ts";

/** Most blobs are small, and each has its own cache. */
const MIN_SLOTS = 1 << 9;
/** Enough for ten thousand dates and as many names with few collisions. */
const MAX_SLOTS = 1 << 15;
/** The growth factor of a cache once half of its slots are used. */
const GROWTH = 8;
/** Longer strings are not cached; dates, tickers and column names are shorter. */
const MAX_KEPT_BYTES = 48;

/**
 * Caches short ASCII strings by their bytes, because a blob repeats its few keys and dates millions of times: a repeated string is neither
 * decoded nor parsed as a date again. Each hash has two slots, so memory is bounded.
 */
export class TextCache {
  #slots = MIN_SLOTS;
  #bytes = new Uint8Array(MIN_SLOTS * MAX_KEPT_BYTES);
  /** Length + 1, so that 0 marks an empty slot. */
  #lengths = new Uint8Array(MIN_SLOTS);
  #texts: string[] = new Array<string>(MIN_SLOTS).fill("");
  #days = new Float64Array(MIN_SLOTS);
  /** The number of slots in use. */
  #taken = 0;
  /** Which of a hash's two slots is overwritten next. */
  #turn = 0;
  text = "";
  /** Day of `text` as a date, or NaN. */
  day: Day = Number.NaN;

  /** Writes the string of the ASCII bytes [start, end) to `text` and `day`; `hash` is any hash of these bytes. */
  look(bytes: Uint8Array, start: number, end: number, hash: number): void {
    const length = end - start;
    if (length > MAX_KEPT_BYTES) {
      this.set(decodeAscii(bytes, start, end));
      return;
    }
    let slot = this.#slotOf(hash);
    if (!this.#holds(slot, bytes, start, length)) {
      slot ^= 1;
      if (!this.#holds(slot, bytes, start, length)) {
        if (this.#taken > this.#slots / 2 && this.#slots < MAX_SLOTS) {
          this.#grow();
          slot = this.#slotOf(hash);
        } else slot ^= this.#turn ^= 1;
        this.#keep(slot, bytes, start, end);
      }
    }
    this.text = this.#texts[slot]!;
    this.day = this.#days[slot]!;
  }

  /** Writes a string that is not cached to `text` and `day`. */
  set(text: string): void {
    this.text = text;
    this.day = dayOfText(text);
  }

  #slotOf(hash: number): number {
    return (hash ^ (hash >>> 15)) & (this.#slots - 1);
  }

  /** Clears the cache; the blob will repeat its strings. */
  #grow(): void {
    this.#slots = Math.min(this.#slots * GROWTH, MAX_SLOTS);
    this.#bytes = new Uint8Array(this.#slots * MAX_KEPT_BYTES);
    this.#lengths = new Uint8Array(this.#slots);
    this.#texts = new Array<string>(this.#slots).fill("");
    this.#days = new Float64Array(this.#slots);
    this.#taken = 0;
  }

  #holds(slot: number, bytes: Uint8Array, start: number, length: number): boolean {
    if (this.#lengths[slot] !== length + 1) return false;
    const kept = this.#bytes;
    const at = slot * MAX_KEPT_BYTES;
    for (let i = 0; i < length; i++) if (kept[at + i] !== bytes[start + i]) return false;
    return true;
  }

  #keep(slot: number, bytes: Uint8Array, start: number, end: number): void {
    const text = decodeAscii(bytes, start, end);
    if (this.#lengths[slot] === 0) this.#taken++;
    this.#bytes.set(bytes.subarray(start, end), slot * MAX_KEPT_BYTES);
    this.#lengths[slot] = end - start + 1;
    this.#texts[slot] = text;
    this.#days[slot] = dayOfText(text);
  }
}

function decodeAscii(bytes: Uint8Array, start: number, end: number): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start).toString("latin1");
}
