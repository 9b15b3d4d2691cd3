import { BLOB_BOUNDS, type BlobLimits } from "../contract/blob-limits.ts";
import { MAX_COLUMNS, type TickerSeries } from "../contract/market/ticker-series.ts";
import { invalid, type Position, quote, tooLarge } from "./blob-errors.ts";
import type { BlockStore } from "./block-store.ts";
import type { BlobKind, BlobNames, ColumnRoles } from "./column-names.ts";
import type { ZoneCalendar } from "./dates/date-text.ts";
import { priceColumn } from "./field-names.ts";
import type { Doubles } from "./json/doubles.ts";
import { type JsonReader, Token } from "./json/json-reader.ts";

/**
 * Maximum number of values of a ticker, columns times rows: 1 GiB. In a sparse layout, a few bytes can mean many missing values, so the
 * blob's size does not bound them.
 */
const MAX_VALUES = 2 ** 27;

/**
 * A step of the reading. It yields each ticker once it is complete (for a price blob, with only its price columns), and undefined if it
 * needs more bytes.
 */
export type Steps<T> = Generator<TickerSeries | undefined, T, void>;

/** The state that the readers of all layouts share while they read one blob. */
export interface Reading {
  readonly kind: BlobKind;
  readonly source: string;
  readonly json: JsonReader;
  readonly store: BlockStore;
  readonly roles: ColumnRoles;
  readonly limits: BlobLimits;
  readonly maxTableValues: number | undefined;
  /** The name of the security, if a table of prices does not name it. */
  readonly ticker?: string | undefined;
  /** The zone that the caller names for times of day; without one they have no date. */
  readonly zone?: ZoneCalendar | undefined;
  readonly names: BlobNames;
  readonly tickers: Set<string>;
  /** The buffer for the columns of the ticker that is being read. */
  readonly buffer: Doubles;
}

export function positionOf(reading: Reading, offset: number, ticker?: string, path?: string): Position {
  return {
    source: reading.source,
    offset,
    ...(ticker === undefined ? {} : { ticker }),
    ...(path === undefined ? {} : { path }),
  };
}

/** A ticker whose columns are complete. */
export interface FoundTicker {
  readonly ticker: string;
  /** Byte offset of its key, or of its first record. */
  readonly offset: number;
  readonly columns: readonly string[];
  readonly n: number;
}

export function claimTicker(reading: Reading, { ticker, offset, columns, n }: FoundTicker): void {
  const position = positionOf(reading, offset, ticker);
  // The dates of a ticker without columns take memory too.
  checkValueCount(reading, Math.max(1, columns.length) * n, offset, ticker);
  if (reading.tickers.has(ticker)) throw invalid(position, "comes twice");
  if (reading.kind === "prices") priceColumn(columns, (what, advice) => invalid(position, what, advice));
  reading.tickers.add(recordTicker(reading, reading.tickers.size, ticker, offset));
}

export function recordTicker(reading: Reading, count: number, ticker: string, offset: number): string {
  const { tickers } = reading.limits;
  if (count < tickers) return reading.names.ticker(ticker, positionOf(reading, offset));
  const what = `is one more than the ${tickers} tickers that a blob may have (${BLOB_BOUNDS.tickers.env})`;
  throw tooLarge(positionOf(reading, offset, ticker), what);
}

export function checkColumnCount(reading: Reading, count: number, offset: number, ticker?: string): void {
  if (count < MAX_COLUMNS) return;
  throw tooLarge(positionOf(reading, offset, ticker), `has more than ${MAX_COLUMNS} columns`);
}

export function checkValueCount(reading: Reading, count: number, offset: number, ticker?: string): void {
  if (count <= MAX_VALUES) return;
  const what = `has more than ${MAX_VALUES} values, columns times rows`;
  throw tooLarge(positionOf(reading, offset, ticker), what);
}

export function nameOf(token: Token): string {
  switch (token) {
    case Token.objectStart:
      return "an object";
    case Token.arrayStart:
      return "an array";
    case Token.string:
      return "a string";
    case Token.number:
      return "a number";
    case Token.null:
      return "null";
    default:
      return "true or false";
  }
}

/** The path of a cell in errors. */
export function pathOf(ticker: string, ...keys: readonly (string | number)[]): string {
  return keys.reduce<string>((path, key) => {
    if (typeof key === "number") return `${path}[${key}]`;
    return /^[\w$-]{1,60}$/.test(key) && !/^\d/.test(key) ? `${path}.${key}` : `${path}[${quote(key)}]`;
  }, shortened(ticker));
}

function shortened(ticker: string): string {
  return /^[^\s"[\]\p{C}]{1,60}$/u.test(ticker) ? ticker : quote(ticker);
}
