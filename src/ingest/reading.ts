import { BLOB_BOUNDS, type BlobLimits } from "../contract/blob-limits.ts";
import { MAX_COLUMNS } from "../contract/market/ticker-series.ts";
import { type BlobKind, BlobNames, ColumnRoles } from "./column-names.ts";
import { Calendar, dayOf } from "./dates.ts";
import { invalid, kindOf, type Position, pathOf, tooLarge } from "./faults.ts";
import { priceColumn } from "./field-names.ts";

/**
 * Maximum number of values of a ticker, columns times rows: 1 GiB. In a sparse layout, a few bytes can mean many missing values, so the
 * blob's size does not bound them.
 */
const MAX_VALUES = 2 ** 27;
/** Maximum number of values that wait in memory for the end of the blob, at 8 bytes each: 4 GiB. */
const MAX_HELD_VALUES = 2 ** 29;

/** What is known while one blob is read. */
export class Reading {
  readonly kind: BlobKind;
  readonly source: string;
  readonly roles: ColumnRoles;
  /** The name of the security, if a table of prices does not name it. */
  readonly ticker: string | undefined;
  /** All complete tickers. */
  readonly tickers = new Set<string>();
  readonly #limits: BlobLimits;
  readonly #names: BlobNames;
  #held = 0;

  constructor(kind: BlobKind, source: string, limits: BlobLimits, ticker?: string) {
    this.kind = kind;
    this.source = source;
    this.ticker = ticker;
    this.roles = new ColumnRoles(kind);
    this.#limits = limits;
    this.#names = new BlobNames(limits);
  }

  position(ticker?: string, ...keys: (string | number)[]): Position {
    const path = ticker !== undefined && keys.length > 0 ? pathOf(ticker, ...keys) : undefined;
    return {
      source: this.source,
      ...(ticker !== undefined && { ticker }),
      ...(path !== undefined && { path }),
    };
  }

  /**
   * Records a complete ticker. @param n rows.
   * @throws MucastError invalid_data if the ticker occurs twice, or has no price column in a price blob; too_large over a limit.
   */
  claim(ticker: string, columns: readonly string[], n: number): void {
    const position = this.position(ticker);
    if (columns.length > MAX_COLUMNS) throw tooLarge(position, `has more than ${MAX_COLUMNS} columns`);
    // The dates of a ticker without columns take memory too.
    if (Math.max(1, columns.length) * n > MAX_VALUES)
      throw tooLarge(position, `has more than ${MAX_VALUES} values, columns times rows`);
    if (this.tickers.has(ticker)) throw invalid(position, "comes twice");
    if (this.kind === "prices") priceColumn(columns, (what, advice) => invalid(position, what, advice));
    this.tickers.add(this.tickerName(ticker, this.tickers.size));
  }

  /** @param count of the other tickers. @throws MucastError too_large over a limit of tickers or names. */
  tickerName(ticker: string, count: number): string {
    const { tickers } = this.#limits;
    if (!ticker.isWellFormed()) throw this.#halfPair(ticker);
    if (count < tickers) return this.#names.ticker(ticker, this.position());
    const what = `is one more than the ${tickers} tickers that a blob may have (${BLOB_BOUNDS.tickers.env})`;
    throw tooLarge(this.position(ticker), what);
  }

  columnName(name: string): string {
    if (!name.isWellFormed()) throw this.#halfPair(name);
    return this.#names.column(name, this.position());
  }

  /** @throws MucastError too_large if too many values wait for the end of the blob. */
  hold(values: number): void {
    this.#held += values;
    if (this.#held <= MAX_HELD_VALUES) return;
    const what = `has more than ${MAX_HELD_VALUES} values in an order that must be read to its end; write it ticker by ticker`;
    throw tooLarge({ source: this.source }, what);
  }

  #halfPair(name: string) {
    return invalid(this.position(), `the name ${JSON.stringify(name)} has half of a surrogate pair`);
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

/** The calendar of an array of dates. @param ticker of the array; none if it is that of all tickers. */
export function calendarOf(
  dates: readonly unknown[],
  reading: Reading,
  ticker: string | undefined,
  name: string,
): Calendar {
  const position = (...keys: number[]): Position =>
    ticker === undefined
      ? { source: reading.source, path: reading.position(name, ...keys).path ?? name }
      : reading.position(ticker, name, ...keys);
  let last: unknown;
  let lastDay = 0;
  const days = dates.map((date, i) => {
    if (i > 0 && date === last) return lastDay;
    last = date;
    lastDay = dayOf(date, position(i));
    return lastDay;
  });
  return new Calendar(days, position());
}
