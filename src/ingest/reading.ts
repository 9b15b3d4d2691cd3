import { BLOB_BOUNDS, type BlobLimits, NAME_BYTES } from "../contract/blob-limits.ts";
import { MAX_COLUMNS, type TickerSeries } from "../contract/market/ticker-series.ts";
import type { Calendar } from "./dates.ts";
import { invalid, kindOf, type Position, pathOf, quote, tooLarge } from "./faults.ts";
import { type BlobKind, ColumnRoles, priceColumn } from "./field-names.ts";

/** Columns times rows of a ticker: 1 GiB. In a sparse layout, a few bytes can mean many missing values. */
const MAX_VALUES = 2 ** 27;
/** Values that wait in memory for the end of the blob, at 8 bytes each: 4 GiB. */
const MAX_HELD_VALUES = 2 ** 29;

/** What is known while one blob is read, and its limits. */
export class Reading {
  readonly kind: BlobKind;
  readonly source: string;
  readonly roles: ColumnRoles;
  /** The name of the security, if a table of prices does not name it. */
  readonly ticker: string | undefined;
  /** All complete tickers. */
  readonly tickers = new Set<string>();
  readonly #limits: BlobLimits;
  /** Each name is in memory once. */
  readonly #names = new Map<string, string>();
  #nameBytes = 0;
  #held = 0;

  constructor(kind: BlobKind, source: string, limits: BlobLimits, ticker?: string) {
    this.kind = kind;
    this.source = source;
    this.ticker = ticker;
    this.roles = new ColumnRoles(kind);
    this.#limits = limits;
  }

  position(ticker?: string, ...keys: (string | number)[]): Position {
    if (ticker === undefined) return { source: this.source };
    const path = keys.length > 0 ? { path: pathOf(ticker, ...keys) } : {};
    return { source: this.source, ticker, ...path };
  }

  /** A position that belongs to no ticker. */
  place(name: string, ...keys: number[]): Position {
    return { source: this.source, path: keys.length === 0 ? name : pathOf(name, ...keys) };
  }

  /** @param n rows. @throws MucastError too_large over a limit. */
  checkSize(ticker: string, columns: number, n: number): void {
    const position = this.position(ticker);
    if (columns > MAX_COLUMNS) throw tooLarge(position, `has more than ${MAX_COLUMNS} columns`);
    // The dates of a ticker without columns take memory too.
    if (Math.max(1, columns) * n > MAX_VALUES)
      throw tooLarge(position, `has more than ${MAX_VALUES} values, columns times rows`);
  }

  /**
   * Records a complete ticker. @param n rows.
   * @throws MucastError invalid_data if the ticker occurs twice, or has no price column in a price blob; too_large over a limit.
   */
  claim(ticker: string, columns: readonly string[], n: number): void {
    this.checkSize(ticker, columns.length, n);
    const position = this.position(ticker);
    if (this.tickers.has(ticker)) throw invalid(position, "comes twice");
    if (this.kind === "prices") priceColumn(columns, (what, advice) => invalid(position, what, advice));
    this.tickers.add(this.tickerName(ticker, this.tickers.size));
  }

  /** Completes a ticker. @param values shape (k, n), in the order of the blob. */
  complete(
    ticker: string,
    columns: readonly string[],
    calendar: Calendar,
    values: Float64Array,
  ): TickerSeries {
    this.claim(ticker, columns, calendar.days.length);
    calendar.arrange(values);
    return { ticker, days: calendar.days, columns, values };
  }

  /** @param count of the other tickers. @throws MucastError too_large over a limit of tickers or names. */
  tickerName(ticker: string, count: number): string {
    const { tickers } = this.#limits;
    if (count < tickers) return this.#name(ticker, NAME_BYTES.ticker);
    const what = `is one more than the ${tickers} tickers that a blob may have (${BLOB_BOUNDS.tickers.env})`;
    throw tooLarge(this.position(ticker), what);
  }

  columnName(name: string): string {
    return this.#name(name, NAME_BYTES.column);
  }

  /** @throws MucastError too_large if too many values wait for the end of the blob. */
  hold(values: number): void {
    this.#held += values;
    if (this.#held <= MAX_HELD_VALUES) return;
    const what = `has more than ${MAX_HELD_VALUES} values in an order that must be read to its end; write it ticker by ticker`;
    throw tooLarge(this.position(), what);
  }

  #name(name: string, longest: number): string {
    const kept = this.#names.get(name);
    // A UTF-16 unit takes at most three bytes.
    if (kept !== undefined && 3 * name.length <= longest) return kept;
    const bytes = Buffer.byteLength(name);
    if (bytes > longest)
      throw tooLarge(this.position(), `${quote(name)} has more than the ${longest} bytes of a name`);
    if (!name.isWellFormed())
      throw invalid(this.position(), `the name ${JSON.stringify(name)} has half of a surrogate pair`);
    if (kept !== undefined) return kept;
    const { nameBytes } = this.#limits;
    this.#nameBytes += bytes;
    if (this.#nameBytes > nameBytes) {
      const what = `the names of its tickers and columns take more than ${nameBytes} bytes (${BLOB_BOUNDS.nameBytes.env})`;
      throw tooLarge(this.position(), what);
    }
    this.#names.set(name, name);
    return name;
  }
}

/** An object of the document. */
export type Members = Readonly<Record<string, unknown>>;

export function isMembers(value: unknown): value is Members {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The number of a cell, NaN for null. @throws MucastError invalid_data for anything else, and for a number beyond float64. */
export function numberOf(value: unknown, position: () => Position): number {
  if (value === null) return Number.NaN;
  if (typeof value !== "number")
    throw invalid(position(), `is ${kindOf(value)}; a number or null is expected`);
  if (!Number.isFinite(value)) throw invalid(position(), "is a number beyond the range of a float64");
  return value;
}
