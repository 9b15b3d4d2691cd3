import { type FileHandle, open } from "node:fs/promises";
import { MucastError } from "../contract/errors/errors.ts";
import { workFolderError } from "../contract/errors/system-error.ts";
import { type Child, ChildScanner, type Span } from "./child-scanner.ts";

const CHUNK_BYTES = 2 ** 20;
const MAX_MEMBERS = 1_000_000;
/** Total size of the keys of one object. */
const KEY_BYTES = 2 ** 26;

/**
 * A JSON document on disk without white space between its tokens. It is read in parts, so that documents of any size can be compared.
 * Matching brackets were checked when it was written (`writeCompact`); the rest of the grammar is checked where it is read.
 */
export class JsonFile {
  readonly #handle: FileHandle;
  /** The name of the document in errors. */
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

  /**
   * The members of an object by key, in their order.
   * @throws MucastError unreadable_blob for a duplicate key, too_large above the limits for keys.
   */
  async members(span: Span): Promise<Map<string, Child>> {
    const members = new Map<string, Child>();
    let bytes = 0;
    for await (const child of this.children(span)) {
      const key = this.#parsed(child.keyText ?? "", child.value.start) as string;
      if (members.has(key)) throw this.#unreadable(child.value.start);
      bytes += key.length;
      if (members.size === MAX_MEMBERS || bytes > KEY_BYTES) throw this.#tooManyMembers();
      members.set(key, child);
    }
    return members;
  }

  /** @yields the children of the object or array of a span. @throws MucastError unreadable_blob. */
  async *children(span: Span): AsyncGenerator<Child> {
    const scanner = new ChildScanner(span.start, (offset) => this.#unreadable(offset));
    for await (const piece of this.pieces(span)) yield* scanner.take(piece);
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
    const what = `${this.name} is no JSON document that can be compared: fault at byte ${offset} of its text without white space`;
    return new MucastError("unreadable_blob", what, { source: this.name, offset });
  }

  #tooManyMembers(): MucastError {
    const what = `${this.name} has an object with more than ${MAX_MEMBERS} members, or longer keys than can be compared`;
    return new MucastError("too_large", what, { source: this.name, limit: MAX_MEMBERS });
  }
}
