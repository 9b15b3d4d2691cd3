import { BLOB_BOUNDS, type BlobLimits, NAME_BYTES } from "../contract/blob-limits.ts";
import { type Position, quote, tooLarge } from "./faults.ts";
import { isPrice, plainName, TICKER_NAMES } from "./field-names.ts";

/** The kind of blob. For `prices`, only price columns are read; for `features`, every column. */
export type BlobKind = "prices" | "features";

/** An array of dates is often called `dates`. */
const DATE_RANKS = new Map(Object.entries({ date: 0, timestamp: 1, dates: 0 }));
const TICKER_RANKS = new Map(Object.entries({ ticker: 0, symbol: 1 }));

/** The role of a key in a record, or of a column; a `name` is a ticker if there is no other. Of several dates or tickers, the lowest rank counts. */
export interface ColumnRole {
  readonly role: "date" | "ticker" | "name" | "price" | "value";
  readonly rank: number;
}

const VALUE: ColumnRole = { role: "value", rank: 0 };
const MAX_REMEMBERED = 1 << 14;

/** Finds the role of a column by its name, ignoring case, spaces and punctuation. */
export class ColumnRoles {
  readonly #remembered = new Map<string, ColumnRole>();
  readonly #kind: BlobKind;

  constructor(kind: BlobKind) {
    this.#kind = kind;
  }

  of(name: string): ColumnRole {
    let role = this.#remembered.get(name);
    if (role === undefined) {
      role = this.#find(name);
      if (this.#remembered.size < MAX_REMEMBERED) this.#remembered.set(name, role);
    }
    return role;
  }

  #find(name: string): ColumnRole {
    const plain = plainName(name);
    const date = DATE_RANKS.get(plain);
    if (date !== undefined) return { role: "date", rank: date };
    const ticker = TICKER_RANKS.get(plain);
    if (ticker !== undefined) return { role: "ticker", rank: ticker };
    if (this.#kind === "features") return VALUE;
    if (isPrice(name)) return { role: "price", rank: 0 };
    const rank = TICKER_NAMES.indexOf(plain);
    return rank < 0 ? VALUE : { role: "name", rank };
  }
}

/** The names of a blob's tickers and columns. Each is in memory once, and their total size is limited. */
export class BlobNames {
  readonly #kept = new Map<string, string>();
  readonly #limit: number;
  #bytes = 0;

  constructor({ nameBytes }: BlobLimits) {
    this.#limit = nameBytes;
  }

  ticker(name: string, position: Position): string {
    return this.#keep(name, NAME_BYTES.ticker, position);
  }

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
      throw tooLarge({ source: position.source }, what);
    }
    this.#kept.set(name, name);
    return name;
  }
}
