/** Bytes [start, end) of a file. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** A member of an object, or an element of an array. */
export interface Child {
  /** The member's key as written, with its quotes; undefined for an element. */
  readonly keyText: string | undefined;
  readonly value: Span;
}

const MAX_KEY_LENGTH = 1_000;
const [QUOTE, BACKSLASH, COMMA, COLON] = [34, 92, 44, 58];
const isOpening = (byte: number) => byte === 123 || byte === 91;
const isClosing = (byte: number) => byte === 125 || byte === 93;

/** The kind of token expected next, directly in the object or array. */
const Expect = { key: 0, colon: 1, value: 2 } as const;
type Expect = (typeof Expect)[keyof typeof Expect];

/**
 * Finds the children of one JSON object or array that has no white space between tokens and whose brackets match. It takes the bytes
 * piece by piece and does not look into values.
 */
export class ChildScanner {
  readonly #fault: (offset: number) => Error;
  #at: number;
  #isObject = false;
  #expect: Expect = Expect.value;
  #depth = 0;
  #inText = false;
  #escaped = false;
  #afterComma = false;
  #key: number[] = [];
  #keyText: string | undefined;
  #valueStart = 0;

  /** @param at offset of the opening bracket. @param fault makes the error for an unexpected byte. */
  constructor(at: number, fault: (offset: number) => Error) {
    this.#at = at;
    this.#fault = fault;
  }

  /** The children that end in the next bytes. */
  *take(bytes: Uint8Array): Generator<Child> {
    const begin = this.#at;
    for (let i = 0; i < bytes.length; i++) {
      if (this.#depth > 0 && this.#expect === Expect.value) i = this.#skip(bytes, i);
      if (i === bytes.length) break;
      const byte = bytes[i]!;
      this.#at = begin + i;
      if (this.#inText) this.#inKey(byte);
      else if (this.#depth === 0) this.#open(byte);
      else if (this.#expect !== Expect.value) this.#beforeValue(byte);
      else {
        const child = this.#ended(byte);
        if (child !== undefined) yield child;
      }
    }
    this.#at = begin + bytes.length;
  }

  /** Skips the inside of a value, from byte `i` on. @returns the end of the value, or the number of bytes. */
  #skip(bytes: Uint8Array, i: number): number {
    let [at, depth, inText, escaped] = [i, this.#depth, this.#inText, this.#escaped];
    for (; at < bytes.length; at++) {
      const byte = bytes[at]!;
      if (inText) {
        if (escaped) escaped = false;
        else if (byte === BACKSLASH) escaped = true;
        else if (byte === QUOTE) inText = false;
      } else if (byte === QUOTE) inText = true;
      else if (depth === 1 && (byte === COMMA || isClosing(byte))) break;
      else if (isOpening(byte)) depth += 1;
      else if (isClosing(byte)) depth -= 1;
    }
    [this.#depth, this.#inText, this.#escaped] = [depth, inText, escaped];
    return at;
  }

  #open(byte: number): void {
    if (!isOpening(byte)) throw this.#fault(this.#at);
    this.#isObject = byte === 123;
    this.#depth = 1;
    this.#next();
  }

  /** The kind of token expected after an opening bracket or a comma. */
  #next(): void {
    this.#expect = this.#isObject ? Expect.key : Expect.value;
    this.#keyText = undefined;
    this.#valueStart = this.#at + 1;
  }

  #inKey(byte: number): void {
    this.#key.push(byte);
    if (this.#key.length > MAX_KEY_LENGTH + 2) throw this.#fault(this.#at);
    if (this.#escaped) this.#escaped = false;
    else if (byte === BACKSLASH) this.#escaped = true;
    else if (byte === QUOTE) {
      this.#inText = false;
      this.#expect = Expect.colon;
    }
  }

  #beforeValue(byte: number): void {
    if (this.#expect === Expect.key && byte === QUOTE) {
      this.#inText = true;
      this.#key = [byte];
    } else if (this.#expect === Expect.colon && byte === COLON) {
      this.#keyText = Buffer.from(this.#key).toString("utf8");
      this.#key = [];
      this.#expect = Expect.value;
      this.#valueStart = this.#at + 1;
    } else if (this.#expect === Expect.key && isClosing(byte) && !this.#afterComma) this.#depth = 0;
    else throw this.#fault(this.#at);
  }

  #ended(byte: number): Child | undefined {
    const isEmpty = this.#valueStart === this.#at;
    if (isEmpty && (this.#isObject || byte === COMMA || this.#afterComma)) throw this.#fault(this.#at);
    const value = { start: this.#valueStart, end: this.#at };
    const child = isEmpty ? undefined : { keyText: this.#keyText, value };
    this.#afterComma = byte === COMMA;
    if (byte === COMMA) this.#next();
    else this.#depth = 0;
    return child;
  }
}
