import { open } from "node:fs/promises";
import { MucastError } from "../contract/errors/errors.ts";
import { workFolderError } from "../contract/errors/system-error.ts";
import { MAX_JSON_DEPTH } from "../contract/json/json-text.ts";
import type { ByteSource } from "../contract/market/ticker-series.ts";

/**
 * Writes a JSON document to a file without the white space between its tokens.
 * @throws MucastError unreadable_blob if the bytes are not one JSON object: brackets that do not match, an unterminated string, more
 * than MAX_JSON_DEPTH levels; output_failed if the work folder is full; what the source throws.
 */
export async function writeCompact({ name, chunks }: ByteSource, path: string): Promise<void> {
  const compact = new Compactor(name);
  const file = await open(path, "wx", 0o600).catch((cause: unknown) => {
    throw workFolderError("written", cause);
  });
  try {
    for await (const chunk of chunks) {
      const bytes = compact.take(chunk);
      await file.writeFile(bytes).catch((cause: unknown) => {
        throw workFolderError("written", cause);
      });
    }
    compact.end();
  } finally {
    await file.close();
  }
}

/** Closing brackets by the opening one. */
const CLOSING: Readonly<Record<number, number>> = { 123: 125, 91: 93 };

/** Braces, brackets, comma, colon and quote: the bytes that end a number or a word. */
const MARKS: ReadonlySet<number> = new Set(Buffer.from('{}[],:"'));

class Compactor {
  readonly #name: string;
  readonly #closing: number[] = [];
  #offset = 0;
  #inText = false;
  #escaped = false;
  /** Whether the document's object has started. */
  #hasStarted = false;
  /** Whether the last written byte belongs to a number or a word and was followed by white space. */
  #inWord = false;
  #spaced = false;

  constructor(name: string) {
    this.#name = name;
  }

  /** @returns the bytes of a chunk without white space between tokens. */
  take(chunk: Uint8Array): Uint8Array {
    const kept = Buffer.allocUnsafeSlow(chunk.length);
    let length = 0;
    for (const byte of chunk) {
      if (this.#inText || !isSpace(byte)) {
        this.#follow(byte);
        kept[length++] = byte;
      } else this.#spaced = true;
      this.#offset += 1;
    }
    return kept.subarray(0, length);
  }

  end(): void {
    if (this.#inText || !this.#hasStarted || this.#closing.length > 0) throw this.#fault("it ends too early");
  }

  #follow(byte: number): void {
    if (this.#inText) {
      if (this.#escaped) this.#escaped = false;
      else if (byte === 92) this.#escaped = true;
      else if (byte === 34) this.#inText = false;
      return;
    }
    if (this.#closing.length === 0 && (this.#hasStarted || byte !== 123))
      throw this.#fault("it is no one JSON object");
    this.#hasStarted = true;
    const isWord = !MARKS.has(byte);
    if (isWord && this.#inWord && this.#spaced) throw this.#fault("two values stand side by side");
    [this.#inWord, this.#spaced] = [isWord, false];
    const closing = CLOSING[byte];
    if (closing !== undefined) {
      if (this.#closing.length === MAX_JSON_DEPTH)
        throw this.#fault(`it has more than ${MAX_JSON_DEPTH} levels`);
      this.#closing.push(closing);
    } else if (byte === 125 || byte === 93) {
      if (this.#closing.pop() !== byte) throw this.#fault("a bracket does not match");
    } else if (byte === 34) this.#inText = true;
  }

  #fault(what: string): MucastError {
    const message = `${this.#name} is not an output of a job: ${what} (byte ${this.#offset})`;
    return new MucastError("unreadable_blob", message, { source: this.#name, offset: this.#offset });
  }
}

function isSpace(byte: number): boolean {
  return byte === 32 || byte === 10 || byte === 13 || byte === 9;
}
