import { NAME_BYTES } from "../../contract/blob-limits.ts";
import type { MucastError } from "../../contract/errors/errors.ts";
import type { Day } from "../../contract/market/dates.ts";
import { quote, tooLarge, unreadable } from "../blob-errors.ts";
import type { ByteWindow } from "./byte-window.ts";
import { scanNumber } from "./decimal.ts";
import type { Doubles } from "./doubles.ts";
import { checkText, decodeText, TextCache } from "./json-strings.ts";

export const Token = {
  /** The window ends inside the next token: refill it and call again. */
  more: 0,
  objectStart: 1,
  objectEnd: 2,
  arrayStart: 3,
  arrayEnd: 4,
  key: 5,
  string: 6,
  number: 7,
  null: 8,
  true: 9,
  false: 10,
  /** The document is complete, and only white space follows it. */
  end: 11,
  /** Only from `numbers`: the next element is not a number. */
  other: 12,
} as const;
export type Token = (typeof Token)[keyof typeof Token];

/** A read that may have to wait: it yields undefined if it needs more bytes, and continues when it is resumed. */
export type Waiting<T> = Generator<undefined, T, void>;

const DEEPEST = 64;

/**
 * Maximum length of a key that is not skipped and of a column's name, in bytes; a ticker has a lower limit. Names stay in memory, and
 * JavaScript compares very long ones slowly: from 16 Ki characters on, a string's hash is its length.
 */
const MAX_NAME_LENGTH = NAME_BYTES.column;

const Expect = { value: 0, valueOrEnd: 1, keyOrEnd: 2, key: 3, colon: 4, commaOrEnd: 5 } as const;
type Expect = (typeof Expect)[keyof typeof Expect];

const OBJECT = 1;
const ARRAY = 2;

/**
 * Reads JSON token by token from a window of bytes and checks its grammar. It never waits: at the window's end it returns
 * `Token.more`, and the same call continues after a refill.
 */
export class JsonReader {
  readonly #window: ByteWindow;
  readonly #cache = new TextCache();
  readonly #containers = new Uint8Array(DEEPEST + 1);
  readonly #number = new Float64Array(1);
  #expect: Expect = Expect.value;
  #skipping = false;
  #held: Token = Token.more;
  #literalToken: Token = Token.null;
  depth = 0;
  offset = 0;

  constructor(window: ByteWindow) {
    this.#window = window;
  }

  get text(): string {
    return this.#cache.text;
  }

  /** Day of the last key or string as a date, or NaN. */
  get day(): Day {
    return this.#cache.day;
  }

  /** The last number; NaN for NaN, the infinities and numbers beyond float64, all of which count as missing. */
  get number(): number {
    return this.#number[0]!;
  }

  /** The last number as written in the blob; only valid until the next token is read. */
  get numberText(): string {
    const { bytes, position } = this.#window;
    return Buffer.from(bytes.subarray(this.offset - this.#window.offset(0), position)).toString("latin1");
  }

  unread(token: Token): void {
    this.#held = token;
  }

  next(): Token {
    if (this.#held !== Token.more) {
      const token = this.#held;
      this.#held = Token.more;
      return token;
    }
    const window = this.#window;
    const bytes = window.bytes;
    let p = window.position;
    for (;;) {
      let c = bytes[p]!;
      while (c <= 32 && (c === 32 || c === 10 || c === 13 || c === 9)) c = bytes[++p]!;
      window.position = p;
      if (p >= window.end) return this.#starved();
      switch (this.#expect) {
        case Expect.commaOrEnd:
          if (c !== 44 || this.depth === 0) return this.#close(p, c);
          this.#expect = this.#containers[this.depth] === OBJECT ? Expect.key : Expect.value;
          p++;
          break;
        case Expect.colon:
          if (c !== 58) throw this.#unexpected(p, "a colon");
          this.#expect = Expect.value;
          p++;
          break;
        case Expect.keyOrEnd:
          if (c === 125) return this.#close(p, c);
          return this.#key(p, c);
        case Expect.key:
          return this.#key(p, c);
        case Expect.valueOrEnd:
          if (c === 93) return this.#close(p, c);
          return this.#value(p, c);
        default:
          return this.#value(p, c);
      }
    }
  }

  /** Reads the next token, and keeps only its kind and position. */
  pass(): Token {
    this.#skipping = true;
    const token = this.next();
    this.#skipping = false;
    return token;
  }

  /** Waits for the next token, after `next` or `numbers` has returned `Token.more`. */
  *wait(): Waiting<Token> {
    for (;;) {
      yield;
      const token = this.next();
      if (token !== Token.more) return token;
    }
  }

  *take(): Waiting<Token> {
    const token = this.next();
    return token === Token.more ? yield* this.wait() : token;
  }

  /**
   * Checks the grammar without keeping anything, until the object or array at `depth` is after a complete value.
   * @returns whether it got there; if not, the caller refills the window and calls again.
   */
  skipTo(depth: number): boolean {
    this.#skipping = true;
    this.#held = Token.more;
    let token: Token = Token.null;
    while (token !== Token.more && (this.depth !== depth || this.#expect !== Expect.commaOrEnd)) {
      token = this.next();
    }
    this.#skipping = false;
    return token !== Token.more;
  }

  /** Skips the value of the key just read, or the rest of what is open deeper than `depth`. */
  *skip(depth = this.depth): Waiting<void> {
    while (!this.skipTo(depth)) yield;
  }

  /**
   * Reads the elements of the open array into `into` while they are numbers or null (NaN). Nearly all bytes of a canonical
   * blob pass through this loop.
   * @returns `arrayEnd`, `more`, or `other` before an element that is neither.
   */
  numbers(into: Doubles): Token {
    const window = this.#window;
    const bytes = window.bytes;
    const end = window.end;
    let expect = this.#expect;
    let out = into.values;
    let n = into.length;
    let p = window.position;
    let token: Token = Token.more;
    for (;;) {
      let c = bytes[p]!;
      while (c <= 32 && (c === 32 || c === 10 || c === 13 || c === 9)) c = bytes[++p]!;
      if (p >= end) break;
      if (expect === Expect.commaOrEnd && c === 44) {
        expect = Expect.value;
        c = bytes[++p]!;
        while (c <= 32 && (c === 32 || c === 10 || c === 13 || c === 9)) c = bytes[++p]!;
        if (p >= end) break;
      } else if (expect === Expect.commaOrEnd || (c === 93 && expect === Expect.valueOrEnd)) {
        token = Token.arrayEnd;
        break;
      }
      if (n === out.length) {
        into.length = n;
        into.reserve(n + 1);
        out = into.values;
      }
      let q: number;
      if ((c >= 48 && c <= 57) || (c === 45 && bytes[p + 1] !== 73)) {
        q = scanNumber(bytes, p, out, n);
        if (q < 0 && (~q < end || window.finished)) throw this.#unexpected(~q, "a digit");
        if (q < 0 || (q >= end && !window.finished)) break;
      } else if (c === 110 || c === 78 || c === 73 || c === 45) {
        q = this.#literal(p, c);
        if (q < 0) break;
        out[n] = Number.NaN;
      } else {
        token = Token.other;
        break;
      }
      p = q;
      n++;
      expect = Expect.commaOrEnd;
    }
    into.length = n;
    window.position = p;
    this.#expect = expect;
    if (token === Token.arrayEnd) return this.#close(p, bytes[p]!);
    return token === Token.more ? this.#starved() : token;
  }

  #key(p: number, c: number): Token {
    if (c !== 34) throw this.#unexpected(p, "a key in double quotes");
    if (!this.#string(p)) return this.#starved();
    if (!this.#skipping) this.checkName();
    this.#expect = Expect.colon;
    return Token.key;
  }

  checkName(): void {
    // A UTF-16 unit takes at most three bytes.
    if (3 * this.text.length <= MAX_NAME_LENGTH || Buffer.byteLength(this.text) <= MAX_NAME_LENGTH) return;
    const position = { source: this.#window.source, offset: this.offset };
    throw tooLarge(position, `${quote(this.text)} has more than the ${MAX_NAME_LENGTH} bytes of a name`);
  }

  #value(p: number, c: number): Token {
    this.offset = this.#window.offset(p);
    if (c === 34) {
      if (!this.#string(p)) return this.#starved();
      this.#expect = Expect.commaOrEnd;
      return Token.string;
    }
    if (c === 123) return this.#open(p, OBJECT);
    if (c === 91) return this.#open(p, ARRAY);
    if ((c >= 48 && c <= 57) || (c === 45 && this.#window.bytes[p + 1] !== 73)) return this.#oneNumber(p);
    const q = this.#literal(p, c);
    if (q < 0) return this.#starved();
    this.#window.position = q;
    this.#expect = Expect.commaOrEnd;
    return this.#literalToken;
  }

  #oneNumber(p: number): Token {
    const window = this.#window;
    const q = scanNumber(window.bytes, p, this.#number, 0);
    if (q < 0 && (~q < window.end || window.finished)) throw this.#unexpected(~q, "a digit");
    if (q < 0 || (q >= window.end && !window.finished)) return Token.more;
    window.position = q;
    this.#expect = Expect.commaOrEnd;
    return Token.number;
  }

  /** Matches null, true, false and the literals of Python. @returns the position after it, or -1 to wait for more. */
  #literal(p: number, c: number): number {
    const window = this.#window;
    const literal = LITERALS.find(({ letters }) => letters[0] === c);
    if (literal === undefined) throw this.#unexpected(p, "a value");
    for (let i = 1; i < literal.letters.length; i++) {
      if (window.bytes[p + i] === literal.letters[i]) continue;
      if (p + i >= window.end && !window.finished) return -1;
      throw this.#unexpected(p + i, `the rest of ${literal.name}`);
    }
    this.#literalToken = literal.token;
    if (literal.token === Token.number) this.#number[0] = Number.NaN;
    return p + literal.letters.length;
  }

  #open(p: number, container: number): Token {
    const window = this.#window;
    if (this.depth === DEEPEST) {
      throw unreadable(window.source, window.offset(p), `values are nested deeper than ${DEEPEST} levels`);
    }
    this.#containers[++this.depth] = container;
    window.position = p + 1;
    this.#expect = container === OBJECT ? Expect.keyOrEnd : Expect.valueOrEnd;
    return container === OBJECT ? Token.objectStart : Token.arrayStart;
  }

  #close(p: number, c: number): Token {
    const container = this.#containers[this.depth];
    if (this.depth === 0) throw this.#unexpected(p, "the end of the document");
    if (c !== (container === OBJECT ? 125 : 93)) {
      throw this.#unexpected(p, container === OBJECT ? "a comma or }" : "a comma or ]");
    }
    this.depth--;
    this.offset = this.#window.offset(p);
    this.#window.position = p + 1;
    this.#expect = Expect.commaOrEnd;
    return container === OBJECT ? Token.objectEnd : Token.arrayEnd;
  }

  /** Reads the string that starts at `p`. @returns whether it is complete; if not, the window has to be refilled. */
  #string(p: number): boolean {
    const window = this.#window;
    const { bytes, end } = window;
    let hash = 0;
    let high = 0;
    let isEscaped = false;
    let q = p + 1;
    for (let c = bytes[q]!; c !== 34; c = bytes[++q]!) {
      if (c < 32) {
        if (q >= end) return false;
        throw this.#unexpected(q, "no control character inside a string");
      }
      if (c === 92) {
        isEscaped = true;
        if (++q >= end) return false;
      }
      high |= c;
      hash = Math.imul(hash ^ c, 16_777_619);
    }
    this.offset = window.offset(p);
    window.position = q + 1;
    if (isEscaped || high >= 128) this.#unusualText(p + 1, q);
    else if (!this.#skipping) this.#cache.look(bytes, p + 1, q, hash);
    return true;
  }

  #unusualText(start: number, end: number): void {
    const { bytes, source } = this.#window;
    const fault = checkText(bytes, start, end);
    if (fault !== undefined) throw unreadable(source, this.#window.offset(fault.at), fault.what);
    if (this.#skipping) return;
    const text = decodeText(bytes, start, end);
    if (text === undefined) {
      throw unreadable(
        source,
        this.offset,
        "a string contains half of a surrogate pair, which is not a character",
      );
    }
    this.#cache.set(text);
  }

  #starved(): Token {
    if (!this.#window.finished) return Token.more;
    if (this.depth === 0 && this.#expect === Expect.commaOrEnd) return Token.end;
    throw this.#unexpected(this.#window.end, "more");
  }

  #unexpected(p: number, expected: string): MucastError {
    const { bytes, end, source } = this.#window;
    const offset = this.#window.offset(Math.min(p, end));
    if (p >= end) return unreadable(source, offset, "the blob ends in the middle of its JSON text");
    const c = bytes[p]!;
    const found =
      c > 32 && c < 127 ? quote(String.fromCharCode(c)) : `byte 0x${c.toString(16).padStart(2, "0")}`;
    return unreadable(source, offset, `found ${found} where ${expected} is expected`);
  }
}

interface Literal {
  readonly name: string;
  readonly letters: Uint8Array;
  readonly token: Token;
}

function literal(name: string, token: Token): Literal {
  return { name, letters: Buffer.from(name), token };
}

const LITERALS: readonly Literal[] = [
  literal("null", Token.null),
  literal("true", Token.true),
  literal("false", Token.false),
  // Python writes these for missing values. They are not JSON, but occur in real blobs.
  literal("NaN", Token.number),
  literal("Infinity", Token.number),
  literal("-Infinity", Token.number),
];
