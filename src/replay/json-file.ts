import { type FileHandle, open } from "node:fs/promises";
import { MucastError } from "../contract/errors/errors.ts";
import { workFolderError } from "../contract/errors/system-error.ts";
import { NOT_AN_OUTPUT } from "../contract/errors/wrong-document.ts";
import type { ByteSource } from "../contract/market/ticker-series.ts";
import { JsonScanner } from "../ingest/json-scanner.ts";

const CHUNK_BYTES = 2 ** 20;
const MAX_MEMBERS = 1_000_000;

/** A member of an object: bytes [start, end) of the file with its key, which end with the value from `value` on. */
export interface Member {
  readonly start: number;
  readonly value: number;
  readonly end: number;
}

/** A JSON object on disk without white space between its tokens, read in parts, so that a document of any size can be compared. */
export class JsonFile {
  readonly #handle: FileHandle;
  /** The document's name in errors. */
  readonly name: string;
  /** Its members by key, in their order. */
  members: ReadonlyMap<string, Member> = new Map();

  private constructor(handle: FileHandle, name: string) {
    this.#handle = handle;
    this.name = name;
  }

  /** @throws MucastError unreadable_blob if it is not one JSON object; of `membersOf`. */
  static async open(path: string, name: string): Promise<JsonFile> {
    const file = new JsonFile(await open(path, "r"), name);
    try {
      const { size } = await file.#handle.stat();
      file.members = await file.membersOf({ start: 0, value: 0, end: size });
      return file;
    } catch (error) {
      await file.close();
      throw error;
    }
  }

  close(): Promise<void> {
    return this.#handle.close();
  }

  /** The bytes of a part, piece by piece. */
  async *pieces({ start, end }: Pick<Member, "start" | "end">): AsyncGenerator<Buffer> {
    for (let at = start; at < end; ) {
      const piece = Buffer.allocUnsafeSlow(Math.min(CHUNK_BYTES, end - at));
      const { bytesRead } = await this.#handle.read(piece, 0, piece.length, at).catch((cause: unknown) => {
        throw workFolderError("read", cause);
      });
      if (bytesRead === 0) throw workFolderError("read", new Error(`${this.name} was cut short`));
      at += bytesRead;
      yield piece.subarray(0, bytesRead);
    }
  }

  async text(start: number, end: number): Promise<string> {
    const pieces: Buffer[] = [];
    for await (const piece of this.pieces({ start, end })) pieces.push(piece);
    return Buffer.concat(pieces).toString("utf8");
  }

  /** @throws MucastError unreadable_blob. */
  async parse({ value, end }: Member): Promise<unknown> {
    const text = await this.text(value, end);
    try {
      return JSON.parse(text);
    } catch {
      throw this.#unreadable(`at byte ${value} of its text without white space, a value is not JSON`);
    }
  }

  /**
   * The members of a member that is an object.
   * @throws MucastError unreadable_blob, also for a key that it has twice; too_large.
   */
  async membersOf({ value: from, end }: Member): Promise<Map<string, Member>> {
    const members = new Map<string, Member>();
    const json = new JsonScanner({ name: this.name, chunks: this.pieces({ start: from, end }) }, undefined);
    if ((await json.next()) !== "object") throw this.#unreadable("it is not a JSON object");
    let start = from + 1;
    for await (const key of json.keys()) {
      const value = from + json.offset;
      await json.skip();
      if (members.has(key))
        throw this.#unreadable(`at byte ${start} of its text without white space, a key comes twice`);
      if (members.size === MAX_MEMBERS) {
        const what = `${this.name} has an object with more than ${MAX_MEMBERS} members`;
        throw new MucastError("too_large", what, { source: this.name, limit: MAX_MEMBERS });
      }
      members.set(key, { start, value, end: from + json.offset });
      start = from + json.offset + 1;
    }
    await json.finish();
    return members;
  }

  #unreadable(what: string): MucastError {
    const message = `${this.name} is not an output of a job: ${what}`;
    return new MucastError("unreadable_blob", message, { source: this.name, ...NOT_AN_OUTPUT });
  }
}

const [QUOTE, BACKSLASH] = [34, 92];
const MARKS: ReadonlySet<number> = new Set(Buffer.from('{}[],:"'));
const SPACES: ReadonlySet<number> = new Set(Buffer.from(" \t\n\r"));

/** Follows the bytes of a JSON text: whether each belongs to a string. */
export function stringFollower(): (byte: number) => boolean {
  let [inString, isEscaped] = [false, false];
  return (byte) => {
    if (!inString) {
      inString = byte === QUOTE;
      return inString;
    }
    if (isEscaped) isEscaped = false;
    else if (byte === BACKSLASH) isEscaped = true;
    else inString = byte !== QUOTE;
    return true;
  };
}

/**
 * Writes a JSON document to a file without the white space between its tokens.
 * @throws MucastError output_failed if the work folder is full; what the source throws.
 */
export async function writeCompact({ chunks }: ByteSource, path: string): Promise<void> {
  const file = await open(path, "wx", 0o600).catch(notWritten);
  const isInString = stringFollower();
  let [last, isAfterSpace] = [0, false];
  try {
    for await (const chunk of chunks) {
      const kept = Buffer.allocUnsafeSlow(chunk.length + 1);
      let length = 0;
      for (const byte of chunk) {
        if (!isInString(byte) && SPACES.has(byte)) {
          isAfterSpace = true;
          continue;
        }
        // Two words stay apart: `tr ue` is not `true`.
        if (isAfterSpace && !MARKS.has(last) && !MARKS.has(byte)) kept[length++] = 0x20;
        kept[length++] = byte;
        [last, isAfterSpace] = [byte, false];
      }
      await file.writeFile(kept.subarray(0, length)).catch(notWritten);
    }
  } finally {
    await file.close();
  }
}

function notWritten(cause: unknown): never {
  throw workFolderError("written", cause);
}
