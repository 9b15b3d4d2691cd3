import { BLOB_BOUNDS, type BlobLimits, NAME_BYTES } from "../contract/blob-limits.ts";
import { invalid, type Position, quote, tooLarge } from "./blob-errors.ts";

/** The kind of blob. For `prices`, only price columns are read; for `features`, every column. */
export type BlobKind = "prices" | "features";

/** Price columns, the best first. */
const PRICE_COLUMNS = ["adj_close", "close", "price"] as const;

const PRICE_RANKS = ranks(PRICE_COLUMNS);
/** An array of dates is often called `dates`. */
const DATE_RANKS = new Map([...ranks(["date", "timestamp"]), ["dates", 0]]);
const TICKER_RANKS = ranks(["ticker", "symbol"]);

/** The role of a key in a record, or of a column. Of several dates, tickers or prices, the lowest rank counts. */
export interface ColumnRole {
  readonly role: "date" | "ticker" | "price" | "value";
  readonly rank: number;
}

const VALUE: ColumnRole = { role: "value", rank: 0 };
const MAX_REMEMBERED = 1 << 14;

/** Finds the role of a column by its name, ignoring case, spaces and underscores. */
export class ColumnRoles {
  readonly #remembered = new Map<string, ColumnRole>();
  readonly #kind: BlobKind;

  constructor(kind: BlobKind) {
    this.#kind = kind;
  }

  of(name: string): ColumnRole {
    let role = this.#remembered.get(name);
    if (role === undefined) {
      role = this.#find(bare(name));
      if (this.#remembered.size < MAX_REMEMBERED) this.#remembered.set(name, role);
    }
    return role;
  }

  #find(name: string): ColumnRole {
    const date = DATE_RANKS.get(name);
    if (date !== undefined) return { role: "date", rank: date };
    const ticker = TICKER_RANKS.get(name);
    if (ticker !== undefined) return { role: "ticker", rank: ticker };
    const price = this.#kind === "prices" ? PRICE_RANKS.get(name) : undefined;
    return price === undefined ? VALUE : { role: "price", rank: price };
  }
}

function ranks(names: readonly string[]): Map<string, number> {
  return new Map(names.map((name, rank) => [bare(name), rank]));
}

function bare(name: string): string {
  return name.toLowerCase().replaceAll(/[\s_]/g, "");
}

/**
 * The column that holds a ticker's prices: the first of adj_close, close, price.
 * @throws MucastError invalid_data if there is none, or one in two spellings.
 */
export function priceColumn(roles: ColumnRoles, columns: readonly string[], position: Position): number {
  const rankOf = (name: string) => {
    const { role, rank } = roles.of(name);
    return role === "price" ? rank : PRICE_COLUMNS.length;
  };
  const found = columns.map(rankOf);
  const best = Math.min(PRICE_COLUMNS.length, ...found);
  if (best === PRICE_COLUMNS.length) {
    throw invalid(
      position,
      `has no price column; one of ${PRICE_COLUMNS.join(", ")} is expected`,
      "Exchange the two URLs if this is the feature blob. Otherwise rename the column of the prices.",
    );
  }
  const column = found.indexOf(best);
  const other = found.indexOf(best, column + 1);
  if (other < 0) return column;
  throw invalid(
    position,
    `has two columns ${quote(columns[column]!)} and ${quote(columns[other]!)} for one price`,
  );
}

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
