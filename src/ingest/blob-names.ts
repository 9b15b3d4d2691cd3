import { BLOB_BOUNDS, type BlobLimits, NAME_BYTES } from "../contract/blob-limits.ts";
import { type Position, quote, tooLarge } from "./blob-errors.ts";

/** The names of a blob's tickers and columns. Each is in memory once, and their total size is limited. */
export class BlobNames {
  readonly #kept = new Map<string, string>();
  readonly #limit: number;
  #bytes = 0;

  constructor({ nameBytes }: BlobLimits) {
    this.#limit = nameBytes;
  }

  /** @throws MucastError too_large if the name, or all names of the blob together, are too long. */
  ticker(name: string, position: Position): string {
    return this.#keep(name, NAME_BYTES.ticker, position);
  }

  /** @throws MucastError too_large if the name, or all names of the blob together, are too long. */
  column(name: string, position: Position): string {
    return this.#keep(name, NAME_BYTES.column, position);
  }

  /** @returns the stored string of that name, so that callers need no copy. */
  #keep(name: string, longest: number, position: Position): string {
    const kept = this.#kept.get(name);
    // A UTF-16 unit takes at most three bytes.
    const bytes = 3 * name.length > longest || kept === undefined ? Buffer.byteLength(name) : 0;
    if (bytes > longest)
      throw tooLarge(position, `${quote(name)} has more than the ${longest} bytes of a name`);
    if (kept !== undefined) return kept;
    this.#bytes += bytes;
    if (this.#bytes > this.#limit) {
      const what = `the names of its tickers and columns take more than ${this.#limit} bytes (${BLOB_BOUNDS.nameBytes.env})`;
      throw tooLarge({ source: position.source, offset: position.offset }, what);
    }
    this.#kept.set(name, name);
    return name;
  }
}
