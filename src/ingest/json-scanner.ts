import { isAscii } from "node:buffer";
import type { ByteSource } from "../contract/market/ticker-series.ts";
import { invalid, quote, tooLarge, unreadable } from "./faults.ts";

/** Bytes of a piece: one string to V8, and one value to JSON.parse. */
const MAX_PIECE_BYTES = 2 ** 26;
/** Bytes of array elements that are parsed together. */
const BATCH_BYTES = 2 ** 20;
const MAX_DEPTH = 64;

const [OTHER, STRING, OPEN, CLOSE, KEY_END, NOT_FINITE, BETWEEN] = [0, 1, 2, 3, 4, 5, 6];
/** By byte, inside an object or array. NaN and Infinity, which Python writes, begin with a letter of their own. */
const INSIDE = new Uint8Array(256).fill(OTHER);
for (const [letters, kind] of [
  ['"', STRING],
  ["{[", OPEN],
  ["}]", CLOSE],
  [":", KEY_END],
  ["NI", NOT_FINITE],
] as const)
  for (const letter of letters) INSIDE[letter.charCodeAt(0)] = kind;
/** By byte, outside of all, where white space and commas end a value. */
const OUTSIDE = INSIDE.slice();
for (const letter of " \t\n\r,") OUTSIDE[letter.charCodeAt(0)] = BETWEEN;

/** A value of the document. */
export interface Piece {
  readonly value: unknown;
  /** As it was parsed: of array elements, with brackets around them. */
  readonly text: string;
  /** Whether a string in it may begin with a digit. */
  readonly hasDigits: boolean;
}

/** What a value begins with; `end` in place of an element of an empty array. */
type Beginning = "object" | "array" | "other" | "end";

/**
 * Splits a JSON document into pieces that JSON.parse can read, while its bytes arrive. It goes down into objects and arrays as its caller
 * asks, and checks what separates the pieces.
 */
export class JsonScanner {
  readonly source: string;
  readonly #chunks: AsyncIterator<Uint8Array>;
  readonly #signal: AbortSignal | undefined;
  readonly #decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  #buffer = Buffer.allocUnsafe(2 ** 16);
  /** The bytes [at, end) of the buffer have arrived and are not taken yet. Other positions are relative to `at`. */
  #at = 0;
  #end = 0;
  /** The last value. */
  #value = new ValueScan(0);
  /** The objects and arrays around the next value. */
  #depth = 0;

  constructor({ name, chunks }: ByteSource, signal: AbortSignal | undefined) {
    this.source = name;
    this.#chunks = chunks[Symbol.asyncIterator]();
    this.#signal = signal;
  }

  async close(): Promise<void> {
    await this.#chunks.return?.();
  }
  get depth(): number {
    return this.#depth;
  }

  /** The next `length` bytes, fewer at the end, without taking them. */
  async head(length: number): Promise<Buffer> {
    while (this.#end - this.#at < length && (await this.#more()));
    return this.#buffer.subarray(this.#at, Math.min(this.#end, this.#at + length));
  }

  take(bytes: number): void {
    this.#at += bytes;
  }

  /** The bytes that are not taken yet, as they arrive. */
  async *bytes(): AsyncGenerator<Uint8Array, void, void> {
    yield this.#buffer.subarray(this.#at, this.#end);
    for (let chunk = await this.#next(); chunk !== undefined; chunk = await this.#next()) yield chunk;
  }

  /** What the next value begins with. */
  async next(): Promise<Beginning> {
    return beginning(await this.#letter());
  }

  /** What the first element of the array begins with that is next. */
  async firstElement(): Promise<Beginning> {
    return beginning(await this.#letter((await this.#afterSpace(0)) + 1));
  }

  /** The keys of the object that is next. The caller reads, goes down into or skips each value before it asks for the next key. */
  async *keys(): AsyncGenerator<string, void, void> {
    await this.#takeOne("{");
    this.#depth++;
    let isOpen = (await this.#letter()) !== "}";
    if (!isOpen) await this.#takeOne("}");
    while (isOpen) {
      if ((await this.#letter()) !== '"') throw this.#broken("a key is expected");
      const { value } = await this.piece();
      await this.#takeOne(":");
      yield value as string;
      isOpen = (await this.#takeOne(",", "}")) === ",";
    }
    this.#depth--;
  }

  /** The elements of the array that is next, many in one piece. */
  async *elements(): AsyncGenerator<Piece & { readonly value: readonly unknown[] }, void, void> {
    await this.#takeOne("[");
    this.#depth++;
    let isOpen = (await this.#letter()) !== "]";
    if (!isOpen) await this.#takeOne("]");
    while (isOpen) {
      const start = await this.#afterSpace(0);
      const batch = new ValueScan(0);
      let [end, isBatch] = [start, true];
      for (let from = start; isBatch; from = await this.#afterSpace(from + 1)) {
        end = await this.#valueEnd(from);
        batch.add(this.#value);
        from = await this.#afterSpace(end);
        isBatch = end - start <= BATCH_BYTES && (await this.#byte(from)) === ",".charCodeAt(0);
      }
      this.#value = batch;
      const piece = this.#piece(start, end, undefined, ["[", "]"]) as Piece & { value: unknown[] };
      isOpen = (await this.#takeOne(",", "]")) === ",";
      // If the caller throws after the bracket, the array is no longer open.
      if (!isOpen) this.#depth--;
      yield piece;
    }
  }

  /**
   * The next value. @param ticker whose value it is.
   * @throws MucastError too_large over 64 MiB, unreadable_blob, invalid_data for a repeated key.
   */
  async piece(ticker?: string): Promise<Piece> {
    const start = await this.#afterSpace(0);
    return this.#piece(start, await this.#valueEnd(start), ticker);
  }

  /** Skips the next value, of any size. Only its brackets and strings are checked. */
  async skip(): Promise<void> {
    const start = await this.#afterSpace(0);
    const end = await this.#valueEnd(start, true);
    this.#at += end;
  }

  /** Skips the rest of the objects and arrays that are open, down to a depth. */
  async leave(depth: number): Promise<void> {
    if (this.#depth === depth) return;
    const end = await this.#valueEnd(0, true, this.#depth - depth);
    this.#at += end;
    this.#depth = depth;
  }

  /** @throws MucastError unreadable_blob if anything but white space is left. */
  async finish(): Promise<void> {
    const letter = await this.#letter();
    if (letter === "{")
      throw unreadable(this.source, "the blob looks like JSON lines; write one array of records");
    if (letter !== "") throw this.#broken("the end is expected");
  }

  async #next(): Promise<Uint8Array | undefined> {
    this.#signal?.throwIfAborted();
    const { done, value } = await this.#chunks.next();
    return done === true ? undefined : value;
  }

  /** Appends the next bytes to the buffer. @returns false at the end. */
  async #more(): Promise<boolean> {
    const chunk = await this.#next();
    if (chunk === undefined) return false;
    const held = this.#end - this.#at;
    if (this.#end + chunk.length > this.#buffer.length) {
      // The old bytes stay as they are, since a caller may still hold them.
      const next = Buffer.allocUnsafeSlow(Math.max(2 * (held + chunk.length), 2 ** 16));
      this.#buffer.copy(next, 0, this.#at, this.#end);
      [this.#buffer, this.#at, this.#end] = [next, 0, held];
    }
    this.#buffer.set(chunk, this.#end);
    this.#end += chunk.length;
    return true;
  }

  /** @returns -1 at the end. */
  async #byte(position: number): Promise<number> {
    while (this.#at + position >= this.#end) if (!(await this.#more())) return -1;
    return this.#buffer[this.#at + position]!;
  }

  /** The first position from `from` on that is no white space. */
  async #afterSpace(from: number): Promise<number> {
    for (let position = from; ; position++) {
      const byte = await this.#byte(position);
      if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) return position;
    }
  }

  /** The first letter from `from` on that is no white space; empty at the end. */
  async #letter(from = 0): Promise<string> {
    const byte = await this.#byte(await this.#afterSpace(from));
    return byte < 0 ? "" : String.fromCharCode(byte);
  }

  /** Takes the next letter, which must be one of these. */
  async #takeOne(...letters: string[]): Promise<string> {
    const position = await this.#afterSpace(0);
    const letter = await this.#letter(position);
    if (!letters.includes(letter)) throw this.#broken(`${letters.map(quote).join(" or ")} is expected`);
    this.#at += position + 1;
    return letter;
  }

  /**
   * The end of the value at `from`. @param drops whether bytes are taken on the way, so that the value may have any size.
   * @param open the number of objects and arrays around it that end too.
   */
  async #valueEnd(from: number, drops = false, open = 0): Promise<number> {
    const value = new ValueScan(open);
    this.#value = value;
    for (let [start, at] = [from, from]; ; ) {
      at = value.scan(this.#buffer.subarray(this.#at, this.#end), at);
      if (value.deepest > MAX_DEPTH)
        throw unreadable(this.source, `values are nested more than ${MAX_DEPTH} deep`);
      if (!value.isDone && drops) {
        this.#at += at;
        [start, at] = [start - at, 0];
      } else if (at - start > MAX_PIECE_BYTES) {
        const what = `a value has more than ${MAX_PIECE_BYTES} bytes`;
        throw tooLarge({ source: this.source }, `${what}; write tickers, records or dates one by one`);
      }
      if (!value.isDone && (await this.#more())) continue;
      if (value.depth > 0 || value.isText) throw this.#broken("the blob ends early");
      if (at === start) throw this.#broken("a value is expected");
      return at;
    }
  }

  /** Takes and parses the bytes [start, end). */
  #piece(start: number, end: number, ticker?: string, [before, after] = ["", ""]): Piece {
    const bytes = this.#buffer.subarray(this.#at + start, this.#at + end);
    let text: string;
    try {
      text = before + (isAscii(bytes) ? bytes.toString("latin1") : this.#decoder.decode(bytes)) + after;
    } catch {
      throw unreadable(this.source, "the blob is not UTF-8 text");
    }
    const { keys, hasNonFinite, hasDigits } = this.#value;
    if (hasNonFinite)
      text = text.replaceAll(STRING_OR_NOT_FINITE, (found) => (found[0] === '"' ? found : "null"));
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch (error) {
      throw this.#broken((error as Error).message.replaceAll("\n", " "));
    }
    this.#at += end;
    if (keys > 0 && keyCount(value) !== keys) {
      const position = { source: this.source, ...(ticker !== undefined && { ticker }) };
      throw invalid(position, `has the key ${quote(repeatedKey(text))} twice in one object`);
    }
    return { value, text, hasDigits };
  }

  #broken(what: string) {
    return unreadable(this.source, `the blob is not JSON: ${what}`);
  }
}

/** Follows the bytes of a value to its end. */
class ValueScan {
  /** The objects and arrays that are open. */
  depth: number;
  /** The most that were open. */
  deepest = 0;
  isText = false;
  #isEscape = false;
  isDone = false;
  /** At any depth. */
  keys = 0;
  /** Whether it may have NaN or Infinity. */
  hasNonFinite = false;
  hasDigits = false;

  constructor(depth: number) {
    this.depth = depth;
  }

  add({ keys, hasNonFinite, hasDigits }: ValueScan): void {
    this.keys += keys;
    this.hasNonFinite ||= hasNonFinite;
    this.hasDigits ||= hasDigits;
  }

  /** @returns the position where the value ends, or the number of bytes if it does not end in them. */
  scan(bytes: Uint8Array, from: number): number {
    const end = bytes.length;
    // Local variables take half the time of fields.
    let { depth, isText, isDone } = this;
    let at = from;
    while (at < end && !isDone) {
      if (isText) {
        for (; at < end && isText; at++) {
          const byte = bytes[at]!;
          if (this.#isEscape) this.#isEscape = false;
          else if (byte === 0x5c) this.#isEscape = true;
          else isText = byte !== 0x22;
        }
        isDone = !isText && depth === 0;
        continue;
      }
      const kinds = depth === 0 ? OUTSIDE : INSIDE;
      let kind = 0;
      while (at < end) {
        kind = kinds[bytes[at]!]!;
        if (kind !== OTHER) break;
        at++;
      }
      if (at === end) break;
      isDone = depth === 0 && (kind === CLOSE || kind === BETWEEN);
      if (isDone) break;
      at++;
      if (kind === STRING) {
        isText = true;
        this.hasDigits ||= at === end || (bytes[at]! >= 0x30 && bytes[at]! <= 0x39);
      } else if (kind === KEY_END) this.keys++;
      else if (kind === NOT_FINITE) this.hasNonFinite = true;
      else if (kind === OPEN) this.deepest = Math.max(this.deepest, ++depth);
      else if (kind === CLOSE) isDone = --depth === 0;
    }
    [this.depth, this.isText, this.isDone] = [depth, isText, isDone];
    return at;
  }
}

const STRING_OR_NOT_FINITE = /"(?:[^"\\]|\\.)*"|-?Infinity|NaN/gs;

function beginning(letter: string): Beginning {
  if (letter === "{") return "object";
  if (letter === "[") return "array";
  return letter === "]" ? "end" : "other";
}

/** The number of keys of a value's objects, at any depth. */
function keyCount(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  let count = 0;
  if (Array.isArray(value)) for (const each of value) if (typeof each === "object") count += keyCount(each);
  if (Array.isArray(value)) return count;
  // Of a thousand members, looking each up takes a third of the time of Object.values.
  const members = value as Record<string, unknown>;
  const keys = Object.keys(members);
  for (const key of keys) if (typeof members[key] === "object") count += keyCount(members[key]);
  return count + keys.length;
}

/** The first key that an object has twice. */
function repeatedKey(text: string): string {
  const open: Set<string>[] = [];
  for (const [token, colon] of text.matchAll(/"(?:[^"\\]|\\.)*"(\s*:)?|[{}[\]]/gs)) {
    if (token === "{" || token === "[") open.push(new Set());
    else if (token === "}" || token === "]") open.pop();
    else if (colon !== undefined) {
      const key = JSON.parse(token.slice(0, -colon.length)) as string;
      if (open.at(-1)!.has(key)) return key;
      open.at(-1)!.add(key);
    }
  }
  return "a key";
}

/** Keys such as `10`, which JSON.parse puts before all others. */
const MOVED_KEY = /(?<!\\)"(\d{1,10}"\s*:)/g;
/** Half of a surrogate pair, which no name may have, before such a key. */
const MARK = "\ud800";
const MARKED_KEY = /^\ud800\d{1,10}$/;

/** The value of a piece with its keys in the order of the text: those that JSON.parse would move are marked. */
export function inOrder({ value, text, hasDigits }: Piece): unknown {
  if (!hasDigits || text.search(MOVED_KEY) < 0) return value;
  return JSON.parse(text.replaceAll(MOVED_KEY, '"\\ud800$1'));
}

/** The name that a key of `inOrder` stands for. */
export function nameOf(key: string): string {
  return MARKED_KEY.test(key) ? key.slice(MARK.length) : key;
}
