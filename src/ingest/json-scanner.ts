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
for (const [kind, letters] of [
  [STRING, '"'],
  [OPEN, "{["],
  [CLOSE, "}]"],
  [KEY_END, ":"],
  [NOT_FINITE, "NI"],
] as const) {
  for (const letter of letters) INSIDE[letter.charCodeAt(0)] = kind;
}
/** By byte, outside of all, where white space and commas end a value. */
const OUTSIDE = INSIDE.slice();
for (const letter of " \t\n\r,") OUTSIDE[letter.charCodeAt(0)] = BETWEEN;

const [QUOTE, BACKSLASH] = [0x22, 0x5c];

const code = (letter: string) => letter.charCodeAt(0);

/** A value of the document. */
export interface Piece {
  readonly value: unknown;
  /** As it was parsed: of array elements, with brackets around them. */
  readonly text: string;
}

/** What a value begins with; `end` in place of an element of an empty array. */
export type Beginning = "object" | "array" | "other" | "end";

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
  /** Bytes that were taken before those in the buffer. */
  #before = 0;
  /** Of the last value: its keys at any depth, and whether it may have NaN or Infinity. */
  #keys = 0;
  #isFinite = true;
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
    this.#at = this.#end;
    for (let chunk = await this.#nextChunk(); chunk !== undefined; chunk = await this.#nextChunk())
      yield chunk;
  }

  /** What the next value begins with. */
  async next(): Promise<Beginning> {
    return beginning(await this.#byte(await this.#afterSpace(0)));
  }

  /** What the first element of the array begins with that is next. */
  async firstElement(): Promise<Beginning> {
    const start = await this.#afterSpace(0);
    return beginning(await this.#byte(await this.#afterSpace(start + 1)));
  }

  /** The number of bytes that are taken. */
  get offset(): number {
    return this.#before + this.#at;
  }

  get depth(): number {
    return this.#depth;
  }

  /** Skips the rest of the objects and arrays that are open, down to a depth. */
  async leave(depth: number): Promise<void> {
    if (this.#depth === depth) return;
    const end = await this.#valueEnd(0, true, this.#depth - depth);
    this.#at += end;
    this.#depth = depth;
  }

  /** The keys of the object that is next. The caller reads, goes down into or skips each value before it asks for the next key. */
  async *keys(): AsyncGenerator<string, void, void> {
    await this.#expect("{");
    this.#depth++;
    let isOpen = !(await this.#takes("}"));
    while (isOpen) {
      const start = await this.#afterSpace(0);
      if ((await this.#byte(start)) !== code('"')) throw this.#broken("a key is expected");
      const end = await this.#valueEnd(start);
      const key = this.#piece(start, end).value as string;
      await this.#expect(":");
      yield key;
      isOpen = await this.#takes(",", "}");
    }
    this.#depth--;
  }

  /** The elements of the array that is next, many in one piece. */
  async *elements(): AsyncGenerator<Piece & { readonly value: readonly unknown[] }, void, void> {
    await this.#expect("[");
    if (await this.#takes("]")) return;
    this.#depth++;
    for (let isLast = false; !isLast; ) {
      const start = await this.#afterSpace(0);
      let [end, keys, finite] = [start, 0, true];
      for (let from = start; ; from = await this.#afterSpace(from + 1)) {
        end = await this.#valueEnd(from);
        keys += this.#keys;
        finite &&= this.#isFinite;
        from = await this.#afterSpace(end);
        const separator = await this.#byte(from);
        isLast = separator === code("]");
        if (!isLast && separator !== code(",")) throw this.#broken("a comma or a bracket is expected");
        if (isLast || end - start > BATCH_BYTES) break;
      }
      [this.#keys, this.#isFinite] = [keys, finite];
      const piece = this.#piece(start, end, undefined, "[", "]") as Piece & { value: unknown[] };
      const separator = await this.#afterSpace(0);
      this.#at += separator + 1;
      // The bracket is taken: if the caller throws, the array is no longer open.
      if (isLast) this.#depth--;
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

  /** @throws MucastError unreadable_blob if anything but white space is left. */
  async finish(): Promise<void> {
    do {
      const rest = this.#buffer.toString("latin1", this.#at, this.#end);
      if (/^[ \t\n\r]*\{/.test(rest))
        throw unreadable(this.source, "the blob looks like JSON lines; write one array of records");
      if (/[^ \t\n\r]/.test(rest)) throw this.#broken("the end is expected");
      this.#at = this.#end;
    } while (await this.#more());
  }

  async #nextChunk(): Promise<Uint8Array | undefined> {
    this.#signal?.throwIfAborted();
    const { done, value } = await this.#chunks.next();
    return done === true ? undefined : value;
  }

  /** Appends the next bytes to the buffer. @returns false at the end. */
  async #more(): Promise<boolean> {
    const chunk = await this.#nextChunk();
    if (chunk === undefined) return false;
    const held = this.#end - this.#at;
    if (this.#end + chunk.length > this.#buffer.length) {
      // The old bytes stay as they are, since a caller may still hold them.
      const next = Buffer.allocUnsafeSlow(Math.max(2 * (held + chunk.length), 2 ** 16));
      this.#buffer.copy(next, 0, this.#at, this.#end);
      this.#before += this.#at;
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

  /** The first position from `position` on that is no white space. */
  async #afterSpace(position: number): Promise<number> {
    let next = position;
    for (;;) {
      const byte = await this.#byte(next);
      if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) return next;
      next++;
    }
  }

  async #expect(letter: string): Promise<void> {
    const position = await this.#afterSpace(0);
    if ((await this.#byte(position)) !== code(letter)) throw this.#broken(`${quote(letter)} is expected`);
    this.#at += position + 1;
  }

  /** Takes the first letter if it is next, and says so. @param other is taken if it is next instead; without it, nothing is. */
  async #takes(letter: string, other?: string): Promise<boolean> {
    const position = await this.#afterSpace(0);
    const byte = await this.#byte(position);
    const isFirst = byte === code(letter);
    if (isFirst || (other !== undefined && byte === code(other))) this.#at += position + 1;
    else if (other !== undefined) throw this.#broken("a comma or a bracket is expected");
    return isFirst;
  }

  /**
   * The end of the value at `from`. @param drops whether bytes are taken on the way, so that the value may have any size.
   * @param open the number of objects and arrays around it that end too.
   */
  async #valueEnd(from: number, drops = false, open = 0): Promise<number> {
    let [start, depth, keys, finite] = [from, open, 0, true];
    let [isText, isEscape] = [false, false];
    for (let position = from; ; ) {
      const [buffer, end] = [this.#buffer, this.#end];
      let at = this.#at + position;
      while (at < end) {
        if (isText) {
          if (isEscape) at++;
          isEscape = false;
          while (at < end && buffer[at] !== QUOTE) at += buffer[at] === BACKSLASH ? 2 : 1;
          isEscape = at > end;
          if (at >= end) {
            at = end;
            break;
          }
          isText = false;
          at++;
          if (depth === 0) return this.#ended(start, at - this.#at, keys, finite);
          continue;
        }
        const kinds = depth === 0 ? OUTSIDE : INSIDE;
        let kind = OTHER!;
        while (at < end) {
          kind = kinds[buffer[at]!]!;
          if (kind !== OTHER) break;
          at++;
        }
        if (at === end) break;
        if (kind === STRING) isText = true;
        else if (kind === OPEN) depth++;
        else if (kind === CLOSE || kind === BETWEEN) {
          if (depth === 0) return this.#ended(start, at - this.#at, keys, finite);
          depth--;
        } else if (kind === KEY_END) keys++;
        else finite = false;
        at++;
        if (depth === 0 && kind === CLOSE) return this.#ended(start, at - this.#at, keys, finite);
        if (depth > MAX_DEPTH) throw unreadable(this.source, `values are nested more than ${MAX_DEPTH} deep`);
      }
      position = at - this.#at;
      if (drops) {
        this.#at += position;
        [start, position] = [start - position, 0];
      } else if (position - start > MAX_PIECE_BYTES) {
        const what = `a value has more than ${MAX_PIECE_BYTES} bytes`;
        throw tooLarge({ source: this.source }, `${what}; write tickers, records or dates one by one`);
      }
      if (await this.#more()) continue;
      if (depth > 0 || isText) throw this.#broken("the blob ends early");
      return this.#ended(start, position, keys, finite);
    }
  }

  #ended(start: number, end: number, keys: number, finite: boolean): number {
    if (end === start) throw this.#broken("a value is expected");
    [this.#keys, this.#isFinite] = [keys, finite];
    return end;
  }

  /** Takes and parses the bytes [start, end). */
  #piece(start: number, end: number, ticker?: string, before = "", after = ""): Piece {
    const bytes = this.#buffer.subarray(this.#at + start, this.#at + end);
    let text: string;
    try {
      text = before + (isAscii(bytes) ? bytes.toString("latin1") : this.#decoder.decode(bytes)) + after;
    } catch {
      throw unreadable(this.source, "the blob is not UTF-8 text");
    }
    if (!this.#isFinite)
      text = text.replaceAll(STRING_OR_NOT_FINITE, (found) => (found[0] === '"' ? found : "null"));
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch (error) {
      throw this.#broken((error as Error).message.replaceAll("\n", " "));
    }
    this.#at += end;
    if (this.#keys > 0 && keyCount(value) !== this.#keys) {
      const position = { source: this.source, ...(ticker !== undefined && { ticker }) };
      throw invalid(position, `has the key ${quote(repeatedKey(text))} twice in one object`);
    }
    return { value, text };
  }

  #broken(what: string) {
    return unreadable(this.source, `the blob is not JSON: ${what}`);
  }
}

const STRING_OR_NOT_FINITE = /"(?:[^"\\]|\\.)*"|-?Infinity|NaN/gs;

function beginning(byte: number): Beginning {
  if (byte === code("{")) return "object";
  if (byte === code("[")) return "array";
  return byte === code("]") ? "end" : "other";
}

/** JSON.parse puts keys such as `10` before all others. */
const MOVED_KEY = /^\d{1,10}$/;
/** Half of a surrogate pair, which no name may have, before such a key. */
const MARK = "\ud800";

/** The value of a piece with its keys in the order of the text: those that JSON.parse would move are marked. */
export function inOrder({ value, text }: Piece): unknown {
  if (!hasMovedKey(value)) return value;
  return JSON.parse(text.replaceAll(/(?<!\\)"(\d{1,10}"\s*:)/g, '"\\ud800$1'));
}

/** The name that a key of `inOrder` stands for. */
export function nameOf(key: string): string {
  return key.startsWith(MARK) ? key.slice(MARK.length) : key;
}

/** A layout has objects of values of one kind: if the first is no object or array, none of the others is looked at. */
function hasMovedKey(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (Array.isArray(value)) return typeof value[0] === "object" && value.some(hasMovedKey);
  for (const first in value) {
    if (MOVED_KEY.test(first)) return true;
    const members = value as Record<string, unknown>;
    return typeof members[first] === "object" && Object.values(members).some(hasMovedKey);
  }
  return false;
}

/** The number of keys of a value's objects, at any depth. */
function keyCount(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  const inner: readonly unknown[] = Array.isArray(value) ? value : Object.values(value);
  let count = inner === value ? 0 : inner.length;
  for (const each of inner) if (typeof each === "object") count += keyCount(each);
  return count;
}

const TOKENS = /"(?:[^"\\]|\\.)*"(\s*:)?|[{}[\]]/gs;

/** The first key that an object has twice. */
function repeatedKey(text: string): string {
  const open: Set<string>[] = [];
  for (const [token, colon] of text.matchAll(TOKENS)) {
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
