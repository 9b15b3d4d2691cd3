import { isAscii } from "node:buffer";
import type { ByteSource } from "../contract/market/ticker-series.ts";
import { invalid, quote, tooLarge, unreadable } from "./faults.ts";

/** Bytes of a piece: one string to V8, and one value to JSON.parse. */
const MAX_PIECE_BYTES = 2 ** 26;
/** Bytes of array elements that are parsed together. */
const BATCH_BYTES = 2 ** 20;
const MAX_DEPTH = 64;

/** A value of the document. */
export interface Piece {
  readonly value: unknown;
  /** As it was parsed: of array elements, with brackets around them. */
  readonly text: string;
}

/** A member of an object. */
export interface Member {
  readonly key: string;
  readonly begins: Beginning;
  /** Parsed each time, with keys in the order of the text; only before the scanner is asked for more. */
  readonly value: unknown;
}

/** What a value begins with. */
type Beginning = "object" | "array" | "other";

const BEGINNINGS: Readonly<Record<string, Beginning>> = { "{": "object", "[": "array" };

/**
 * Splits a JSON document into pieces that JSON.parse can read, while its bytes arrive. It goes down into objects and arrays as its caller
 * asks, and checks what separates the pieces.
 */
export class JsonScanner {
  /** The objects and arrays around the next value. */
  depth = 0;
  readonly #source: string;
  readonly #chunks: AsyncIterator<Uint8Array>;
  readonly #signal: AbortSignal | undefined;
  readonly #decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  #buffer = Buffer.allocUnsafe(2 ** 16);
  /** The bytes [at, end) of the buffer have arrived and are not taken yet. Other positions are relative to `at`. */
  #at = 0;
  #end = 0;

  constructor({ name, chunks }: ByteSource, signal: AbortSignal | undefined) {
    this.#source = name;
    this.#chunks = chunks[Symbol.asyncIterator]();
    this.#signal = signal;
  }

  async close(): Promise<void> {
    await this.#chunks.return?.();
  }

  /** The next `length` bytes, fewer at the end, without taking them; valid until more are asked for. */
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
    return BEGINNINGS[(await this.#peek()).letter] ?? "other";
  }

  /** The keys of the object that is next. The caller reads, goes down into or skips each value before it asks for the next key. */
  async *keys(): AsyncGenerator<string, void, void> {
    for (let isOpen = await this.#enter("{", "}"); isOpen; isOpen = await this.#goesOn("}")) {
      if ((await this.#peek()).letter !== '"') throw this.#broken("a key is expected");
      const { value } = await this.piece();
      await this.#take(":");
      yield value as string;
    }
  }

  /** The elements of the array that is next, many in one piece. */
  async *elements(): AsyncGenerator<Piece & { readonly value: readonly unknown[] }, void, void> {
    let isOpen = await this.#enter("[", "]");
    while (isOpen) {
      const { at: start } = await this.#peek();
      const batch = new ValueScan();
      for (let [from, isBatch] = [start, true]; isBatch; ) {
        batch.add(await this.#scan(from));
        const { letter, at } = await this.#peek(batch.end);
        isBatch = batch.end - start <= BATCH_BYTES && letter === ",";
        if (isBatch) from = (await this.#peek(at + 1)).at;
      }
      const text = `[${this.#textOf(this.#buffer.subarray(this.#at + start, this.#at + batch.end), batch)}]`;
      const value = this.#parse(text, batch.keys) as unknown[];
      this.#at += batch.end;
      // If the caller throws after the bracket, the array is no longer open.
      isOpen = await this.#goesOn("]");
      yield { value, text };
    }
  }

  /**
   * The next value. @param ticker whose value it is.
   * @throws MucastError too_large over 64 MiB, unreadable_blob, invalid_data for a repeated key.
   */
  async piece(ticker?: string): Promise<Piece> {
    const { at: start } = await this.#peek();
    const scan = await this.#scan(start);
    const text = this.#textOf(this.#buffer.subarray(this.#at + start, this.#at + scan.end), scan);
    const value = this.#parse(text, scan.keys, ticker);
    this.#at += scan.end;
    return { value, text };
  }

  /** The members of the object that is next, which takes less memory than its value. @throws MucastError like `piece`. */
  async members(ticker: string): Promise<readonly Member[]> {
    const scan = new ValueScan(0, []);
    await this.#scan((await this.#peek()).at, scan);
    const bytes = this.#buffer.subarray(this.#at, this.#at + scan.end);
    this.#at += scan.end;
    if (bytes.at(-1) !== "}".charCodeAt(0)) throw this.#broken('"}" is expected');
    const known = new Set<string>();
    return scan.members!.map(({ start, colon = start, end, keys }) => {
      const key = this.#parse(this.#textOf(bytes.subarray(start, colon), scan));
      if (typeof key !== "string") throw this.#broken("a key is expected");
      if (known.has(key)) throw this.#repeats(key, ticker);
      known.add(key);
      const read = () => {
        const text = this.#textOf(bytes.subarray(colon + 1, end), scan);
        return inOrder({ text, value: this.#parse(text, keys, ticker) });
      };
      return {
        key,
        begins:
          BEGINNINGS[String.fromCharCode(bytes[afterOthers(bytes, colon + 1, end, NO_SPACE)]!)] ?? "other",
        get value() {
          return read();
        },
      };
    });
  }

  /** Skips the next value, of any size. Only its brackets and strings are checked. */
  async skip(): Promise<void> {
    await this.#drop((await this.#peek()).at);
  }

  /** Skips the rest of the objects and arrays that are open, down to a depth. */
  async leave(depth: number): Promise<void> {
    if (this.depth > depth) await this.#drop(0, this.depth - depth);
    this.depth = depth;
  }

  /** @throws MucastError unreadable_blob if anything but white space is left. */
  async finish(): Promise<void> {
    const { letter } = await this.#peek();
    if (letter === "{")
      throw unreadable(this.#source, "the blob looks like JSON lines; write one array of records");
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
    const needed = this.#end - this.#at + chunk.length;
    if (this.#end + chunk.length > this.#buffer.length) {
      const next = needed > this.#buffer.length ? Buffer.allocUnsafeSlow(2 * needed) : this.#buffer;
      this.#buffer.copy(next, 0, this.#at, this.#end);
      [this.#buffer, this.#at, this.#end] = [next, 0, this.#end - this.#at];
    }
    this.#buffer.set(chunk, this.#end);
    this.#end += chunk.length;
    return true;
  }

  /** The first letter from `from` on that is no white space, empty at the end, and its position. */
  async #peek(from = 0): Promise<{ readonly letter: string; readonly at: number }> {
    for (let at = from; ; ) {
      at = afterOthers(this.#buffer, this.#at + at, this.#end, NO_SPACE) - this.#at;
      if (this.#at + at < this.#end) return { letter: String.fromCharCode(this.#buffer[this.#at + at]!), at };
      if (!(await this.#more())) return { letter: "", at };
    }
  }

  /** Takes the next letter, which must be one of these. */
  async #take(...letters: string[]): Promise<string> {
    const { letter, at } = await this.#peek();
    if (!letters.includes(letter)) throw this.#broken(`${letters.map(quote).join(" or ")} is expected`);
    this.#at += at + 1;
    return letter;
  }

  /** Goes down into what is next. @returns whether it has anything in it. */
  async #enter(opening: string, closing: string): Promise<boolean> {
    await this.#take(opening);
    this.depth++;
    return (await this.#peek()).letter !== closing || this.#goesOn(closing);
  }

  /** Takes what follows a value. @returns whether another value follows. */
  async #goesOn(closing: string): Promise<boolean> {
    if ((await this.#take(",", closing)) === ",") return true;
    this.depth--;
    return false;
  }

  /** Finds the end of the value at `from`. */
  async #scan(from: number, value = new ValueScan()): Promise<ValueScan> {
    value.end = from;
    while (!(await this.#scanOn(value))) {
      if (value.end - from <= MAX_PIECE_BYTES) continue;
      const what = `a value has more than ${MAX_PIECE_BYTES} bytes; write tickers, records or dates one by one`;
      throw tooLarge({ source: this.#source }, what);
    }
    if (value.end === from) throw this.#broken("a value is expected");
    return value;
  }

  /** Takes the bytes to the end of a value, or of the objects and arrays that are `open`, as they arrive. */
  async #drop(from: number, open = 0): Promise<void> {
    const value = new ValueScan(open);
    value.end = from;
    let isDone = await this.#scanOn(value);
    if (isDone && value.end === from) throw this.#broken("a value is expected");
    for (; ; isDone = await this.#scanOn(value)) {
      this.#at += value.end;
      value.end = 0;
      if (isDone) return;
    }
  }

  /** Scans what has arrived. @returns whether the value ends in it; otherwise more has arrived. */
  async #scanOn(value: ValueScan): Promise<boolean> {
    value.scan(this.#buffer.subarray(this.#at, this.#end));
    if (value.deepest > MAX_DEPTH)
      throw unreadable(this.#source, `values are nested more than ${MAX_DEPTH} deep`);
    if (value.isDone) return true;
    if (await this.#more()) return false;
    if (value.depth > 0 || value.isText) throw this.#broken("the blob ends early");
    return true;
  }

  #textOf(bytes: Buffer, { hasNonFinite }: ValueScan): string {
    let text: string;
    try {
      text = isAscii(bytes) ? bytes.toString("latin1") : this.#decoder.decode(bytes);
    } catch {
      throw unreadable(this.#source, "the blob is not UTF-8 text");
    }
    if (!hasNonFinite) return text;
    return text.replaceAll(STRING_OR_NOT_FINITE, (found) => (found[0] === '"' ? found : "null"));
  }

  /** @param keys that its objects have together. */
  #parse(text: string, keys = 0, ticker?: string): unknown {
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch (error) {
      throw this.#broken((error as Error).message.replaceAll("\n", " "));
    }
    if (keys > 0 && keyCount(value) !== keys) throw this.#repeats(repeatedKey(text), ticker);
    return value;
  }

  #repeats(key: string, ticker: string | undefined) {
    const position = { source: this.#source, ...(ticker !== undefined && { ticker }) };
    return invalid(position, `has the key ${quote(key)} twice in one object`);
  }

  #broken(what: string) {
    return unreadable(this.#source, `the blob is not JSON: ${what}`);
  }
}

const [OTHER, STRING, OPEN, CLOSE, KEY_END, NOT_FINITE, BETWEEN] = [0, 1, 2, 3, 4, 5, 6];
/** By byte, inside an object or array. NaN and Infinity, which Python writes, begin with a letter of their own. */
const INSIDE = kindsOf({ '"': STRING, "{[": OPEN, "}]": CLOSE, ":": KEY_END, NI: NOT_FINITE });
const BETWEEN_MEMBERS = kindsOf({ ",": BETWEEN }, INSIDE);
/** Outside of all, where white space and commas end a value. */
const OUTSIDE = kindsOf({ " \t\n\r,": BETWEEN }, INSIDE);
/** All but white space. */
const NO_SPACE = kindsOf({ " \t\n\r": OTHER }, new Uint8Array(256).fill(BETWEEN));

function kindsOf(kinds: Readonly<Record<string, number>>, others = new Uint8Array(256).fill(OTHER)) {
  const table = others.slice();
  for (const [letters, kind] of Object.entries(kinds))
    for (const letter of letters) table[letter.charCodeAt(0)] = kind;
  return table;
}

/** Positions of the bytes of a member; `colon` is absent if it has none. */
interface MemberScan {
  readonly start: number;
  colon?: number;
  end: number;
  /** The keys in its value. */
  keys: number;
}

/** Follows the bytes of a value to its end. */
class ValueScan {
  /** The position up to which it has come. */
  end = 0;
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
  /** Those of an object, if they are wanted. */
  readonly members: MemberScan[] | undefined;
  #member: MemberScan | undefined;

  constructor(depth = 0, members?: MemberScan[]) {
    this.depth = depth;
    this.members = members;
  }

  add({ end, keys, hasNonFinite }: ValueScan): void {
    this.end = end;
    this.keys += keys;
    this.hasNonFinite ||= hasNonFinite;
  }

  scan(bytes: Uint8Array): void {
    const { length } = bytes;
    // Local variables take half the time of fields.
    let { depth, isText, isDone, end: at } = this;
    while (at < length && !isDone) {
      if (isText) {
        for (; at < length && isText; at++) {
          const byte = bytes[at]!;
          if (this.#isEscape) this.#isEscape = false;
          else if (byte === 0x5c) this.#isEscape = true;
          else isText = byte !== 0x22;
        }
        isDone = !isText && depth === 0;
        continue;
      }
      const kinds = depth === 0 ? OUTSIDE : depth === 1 && this.members ? BETWEEN_MEMBERS : INSIDE;
      at = afterOthers(bytes, at, length, kinds);
      if (at === length) break;
      const kind = kinds[bytes[at]!]!;
      isDone = depth === 0 && (kind === CLOSE || kind === BETWEEN);
      if (isDone) break;
      at++;
      if (kind === STRING) isText = true;
      else if (kind === KEY_END) {
        this.keys++;
        if (depth === 1 && this.members) this.#member!.colon ??= at - 1;
      } else if (kind === NOT_FINITE) this.hasNonFinite = true;
      else if (kind === OPEN) {
        this.deepest = Math.max(this.deepest, ++depth);
        if (depth === 1 && this.members) this.#member = { start: at, end: at, keys: this.keys };
      } else {
        // The end of a member, or of an object or array.
        if (depth === 1 && this.members) this.#endMember(this.members, bytes, at - 1, kind === CLOSE);
        if (kind === CLOSE) isDone = --depth === 0;
      }
    }
    [this.depth, this.isText, this.isDone, this.end] = [depth, isText, isDone, at];
  }

  #endMember(members: MemberScan[], bytes: Uint8Array, end: number, isLast: boolean): void {
    const { start, colon, keys } = this.#member!;
    const isEmpty = isLast && members.length === 0 && afterOthers(bytes, start, end, NO_SPACE) === end;
    if (!isEmpty) members.push({ start, ...(colon && { colon }), end, keys: this.keys - keys - 1 });
    this.#member = { start: end + 1, end, keys: this.keys };
  }
}

/** The first position from `from` on with a byte of a kind, at most `end`. */
function afterOthers(bytes: Uint8Array, from: number, end: number, kinds: Uint8Array): number {
  let at = from;
  while (at < end && kinds[bytes[at]!] === OTHER) at++;
  return at;
}

const STRING_OR_NOT_FINITE = /"(?:[^"\\]|\\.)*"|-?Infinity|NaN/gs;

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
const MOVED_KEY = /"(?<!\\")(\d{1,10}"\s*:)/g;
/** Half of a surrogate pair, which no name may have, before such a key. */
const MARK = "\ud800";
const MARKED_KEY = /^\ud800\d{1,10}$/;

/** The value of a piece with its keys in the order of the text: those that JSON.parse would move are marked. */
export function inOrder({ value, text }: Piece): unknown {
  // Numbers alone are most of a blob.
  if (!text.includes('"') || text.search(MOVED_KEY) < 0) return value;
  return JSON.parse(text.replaceAll(MOVED_KEY, '"\\ud800$1'));
}

/** The name that a key of `inOrder` stands for. */
export function nameOf(key: string): string {
  return MARKED_KEY.test(key) ? key.slice(MARK.length) : key;
}
