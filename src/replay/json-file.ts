import { type FileHandle, open } from "node:fs/promises";
import { MucastError } from "../contract/errors/errors.ts";
import { workFolderError } from "../contract/errors/system-error.ts";
import { NOT_AN_OUTPUT } from "../contract/errors/wrong-document.ts";
import type { ByteSource } from "../contract/market/ticker-series.ts";
import { ByteWindow } from "../ingest/json/byte-window.ts";
import { readParts, runSteps } from "../ingest/json/json-parts.ts";
import { JsonReader, Token, type Waiting } from "../ingest/json/json-reader.ts";

const CHUNK_BYTES = 2 ** 20;
const MAX_MEMBERS = 1_000_000;
/** Total size of the keys of one object. */
const KEY_BYTES = 2 ** 26;

/** Bytes [start, end) of a file. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** A member of an object, or an element of an array. */
export interface Child {
  /** Undefined for an element. */
  readonly key: string | undefined;
  readonly value: Span;
  /** The value with its key, as the file spells them. */
  readonly entry: Span;
}

/**
 * A JSON document on disk without white space between its tokens, read in parts, so that a document of any size can be
 * compared.
 */
export class JsonFile {
  readonly #handle: FileHandle;
  /** The document's name in errors. */
  readonly name: string;
  readonly whole: Span;
  /** The part that was read last, which contains most spans that are read next. */
  #window = { start: 0, bytes: Buffer.alloc(0) };

  private constructor(handle: FileHandle, name: string, size: number) {
    this.#handle = handle;
    this.name = name;
    this.whole = { start: 0, end: size };
  }

  static async open(path: string, name: string): Promise<JsonFile> {
    const handle = await open(path, "r");
    return new JsonFile(handle, name, (await handle.stat()).size);
  }

  close(): Promise<void> {
    return this.#handle.close();
  }

  /** @yields the bytes of a span, piece by piece. */
  async *pieces({ start, end }: Span): AsyncGenerator<Buffer> {
    for (let at = start; at < end; ) {
      const inside = at - this.#window.start;
      if (inside < 0 || inside >= this.#window.bytes.length) {
        await this.#readWindow(at);
        continue;
      }
      const piece = this.#window.bytes.subarray(inside, inside + end - at);
      at += piece.length;
      yield piece;
    }
  }

  async text(span: Span): Promise<string> {
    const parts: Buffer[] = [];
    for await (const piece of this.pieces(span)) parts.push(piece);
    return Buffer.concat(parts).toString("utf8");
  }

  /** The value of a span. @throws MucastError unreadable_blob. */
  async parse(span: Span): Promise<unknown> {
    return this.#parsed(await this.text(span), span.start);
  }

  /** Successive elements of an array, including the commas between them. @throws MucastError unreadable_blob. */
  async parseList(span: Span): Promise<unknown[]> {
    return this.#parsed(`[${await this.text(span)}]`, span.start) as unknown[];
  }

  /** The first byte of a span, which determines the kind of a value. */
  kind({ start }: Span): Promise<string> {
    return this.text({ start, end: start + 1 });
  }

  /** How many numbers a value has. */
  async numbers(span: Span): Promise<number> {
    return readParts({ name: this.name, chunks: this.pieces(span) }, countNumbers);
  }

  /**
   * The members of an object by key, in their order.
   * @throws MucastError unreadable_blob for a duplicate key, too_large above the limits for keys.
   */
  async members(span: Span): Promise<Map<string, Child>> {
    const members = new Map<string, Child>();
    let bytes = 0;
    for await (const child of this.children(span)) {
      const { key = "" } = child;
      if (members.has(key)) throw this.#unreadable(child.entry.start);
      bytes += key.length;
      if (members.size === MAX_MEMBERS || bytes > KEY_BYTES) throw this.#tooManyMembers();
      members.set(key, child);
    }
    return members;
  }

  /** @yields the members of the object, or the elements of the array, of a span. @throws MucastError unreadable_blob. */
  async *children(span: Span): AsyncGenerator<Child> {
    const window = new ByteWindow({ name: this.name, chunks: this.pieces(span) });
    const end = () => window.offset(window.position);
    yield* runSteps(window, childrenIn(new JsonReader(window), span.start, end));
  }

  #parsed(text: string, offset: number): unknown {
    try {
      return JSON.parse(text);
    } catch {
      throw this.#unreadable(offset);
    }
  }

  /** Into a new buffer, because others may still use the last one. */
  async #readWindow(at: number): Promise<void> {
    const buffer = Buffer.allocUnsafeSlow(Math.min(CHUNK_BYTES, this.whole.end - at));
    const { bytesRead } = await this.#handle.read(buffer, 0, buffer.length, at).catch((cause: unknown) => {
      throw workFolderError("read", cause);
    });
    if (bytesRead === 0) throw workFolderError("read", new Error(`${this.name} was cut short`));
    this.#window = { start: at, bytes: buffer.subarray(0, bytesRead) };
  }

  #unreadable(offset: number): MucastError {
    const what = `${this.name} is not a JSON document that can be compared: fault at byte ${offset} of its text without white space`;
    return new MucastError("unreadable_blob", what, { source: this.name, offset });
  }

  #tooManyMembers(): MucastError {
    const what = `${this.name} has an object with more than ${MAX_MEMBERS} members, or longer keys than can be compared`;
    return new MucastError("too_large", what, { source: this.name, limit: MAX_MEMBERS });
  }
}

/**
 * @param base offset in the file of the first byte that the reader gets.
 * @param end offset, from there on, of the byte after the last token.
 * @yields each child of one object or array; undefined if the reader needs more bytes.
 */
function* childrenIn(reader: JsonReader, base: number, end: () => number): Generator<Child | undefined> {
  const isObject = (yield* passed(reader)) === Token.objectStart;
  for (;;) {
    const token = yield* isObject ? reader.take() : passed(reader);
    if (token === Token.objectEnd || token === Token.arrayEnd) return;
    const start = base + reader.offset;
    const key = isObject ? reader.text : undefined;
    if (isObject) yield* passed(reader);
    const value = base + reader.offset;
    yield* reader.skip(1);
    yield { key, value: { start: value, end: base + end() }, entry: { start, end: base + end() } };
  }
}

function* countNumbers(reader: JsonReader): Waiting<number> {
  let count = 0;
  for (let token = yield* passed(reader); token !== Token.end; token = yield* passed(reader)) {
    if (token === Token.number) count += 1;
  }
  return count;
}

function* passed(reader: JsonReader): Waiting<Token> {
  for (let token = reader.pass(); ; token = reader.pass()) {
    if (token !== Token.more) return token;
    yield;
  }
}

/**
 * Writes a JSON document to a file without the white space between its tokens.
 * @throws MucastError unreadable_blob if the bytes are not a JSON object; output_failed if the work folder is full; what the
 *   source throws.
 */
export async function writeCompact({ name, chunks }: ByteSource, path: string): Promise<void> {
  const file = await open(path, "wx", 0o600).catch(notWritten);
  try {
    await readParts({ name, chunks: written(chunks, file) }, (reader) => requireObject(reader, name));
  } finally {
    await file.close();
  }
}

async function* written(chunks: AsyncIterable<Uint8Array>, file: FileHandle): AsyncGenerator<Uint8Array> {
  const compactor = new Compactor();
  for await (const chunk of chunks) {
    await file.writeFile(compactor.take(chunk)).catch(notWritten);
    yield chunk;
  }
}

function* requireObject(reader: JsonReader, source: string): Waiting<void> {
  if ((yield* reader.take()) !== Token.objectStart) {
    const message = `${source} is not an output of a job: it is not a JSON object`;
    throw new MucastError("unreadable_blob", message, { source, offset: reader.offset, ...NOT_AN_OUTPUT });
  }
  yield* reader.skip(0);
  yield* reader.take();
}

function notWritten(cause: unknown): never {
  throw workFolderError("written", cause);
}

/** Drops the white space between the tokens of a JSON text that comes in chunks. */
class Compactor {
  #inText = false;
  #escaped = false;

  take(chunk: Uint8Array): Uint8Array {
    const kept = Buffer.allocUnsafeSlow(chunk.length);
    let length = 0;
    for (const byte of chunk) {
      if (this.#inText) {
        if (this.#escaped) this.#escaped = false;
        else if (byte === 92) this.#escaped = true;
        else if (byte === 34) this.#inText = false;
      } else if (byte === 32 || byte === 10 || byte === 13 || byte === 9) continue;
      else if (byte === 34) this.#inText = true;
      kept[length++] = byte;
    }
    return kept.subarray(0, length);
  }
}
