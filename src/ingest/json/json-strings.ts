import { isUtf8 } from "node:buffer";
import type { Day } from "../../contract/market/dates.ts";
import { dayOfText } from "../date-text.ts";

const BACKSLASH = 92;
const LOWER_U = 117;
/** " \ / b f n r t */
const SIMPLE_ESCAPES = new Set([34, 92, 47, 98, 102, 110, 114, 116]);
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

interface TextFault {
  readonly at: number;
  readonly what: string;
}

/**
 * Checks the inside of a JSON string, bytes [start, end): its escapes and its UTF-8, which the scan for its end does not check.
 * @returns undefined if there is no fault.
 */
export function checkText(bytes: Uint8Array, start: number, end: number): TextFault | undefined {
  const badEscape = brokenEscape(bytes, start, end);
  if (badEscape !== undefined)
    return { at: badEscape, what: "a string contains an escape that JSON does not have" };
  if (isUtf8(bytes.subarray(start, end))) return undefined;
  return { at: brokenUtf8(bytes, start, end), what: "a string contains bytes that are not UTF-8" };
}

/** The string of checked bytes [start, end). @returns undefined if an escape is half a surrogate pair. */
export function decodeText(bytes: Uint8Array, start: number, end: number): string | undefined {
  const raw = decoder.decode(bytes.subarray(start, end));
  if (!raw.includes("\\")) return raw;
  const text = JSON.parse(`"${raw}"`) as string;
  return text.isWellFormed() ? text : undefined;
}

function brokenEscape(bytes: Uint8Array, start: number, end: number): number | undefined {
  for (let p = start; p < end; p++) {
    if (bytes[p] !== BACKSLASH) continue;
    const escaped = bytes[p + 1]!;
    if (escaped === LOWER_U ? !fourHexDigits(bytes, p + 2, end) : !SIMPLE_ESCAPES.has(escaped)) return p;
    p++;
  }
  return undefined;
}

function fourHexDigits(bytes: Uint8Array, start: number, end: number): boolean {
  if (start + 4 > end) return false;
  for (let p = start; p < start + 4; p++) {
    const c = bytes[p]!;
    const isDigit = c >= 48 && c <= 57;
    const isLetter = (c | 32) >= 97 && (c | 32) <= 102;
    if (!isDigit && !isLetter) return false;
  }
  return true;
}

/** Position of the first byte after the longest complete, valid UTF-8 prefix. */
function brokenUtf8(bytes: Uint8Array, start: number, end: number): number {
  let p = start;
  while (p < end) {
    const width = widthOf(bytes[p]!);
    if (p + width > end || !isUtf8(bytes.subarray(p, p + width))) break;
    p += width;
  }
  return p;
}

function widthOf(lead: number): number {
  if (lead < 0xc0) return 1;
  if (lead < 0xe0) return 2;
  return lead < 0xf0 ? 3 : 4;
}

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
