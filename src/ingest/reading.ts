import { BLOB_BOUNDS, type BlobLimits } from "../contract/data/blob-limits.ts";
import { MOST_COLUMNS, type TickerFeatures } from "../contract/data/ticker-series.ts";
import { invalid, type Position, quote, tooLarge } from "./blob-errors.ts";
import type { BlobNames } from "./blob-names.ts";
import type { BlockStore } from "./block-store.ts";
import { type BlobKind, type ColumnRoles, priceColumn } from "./column-names.ts";
import type { Doubles } from "./json/doubles.ts";
import { type JsonReader, Token } from "./json/json-reader.ts";

/**
 * Most values of a ticker, columns times rows: 1 GiB. A few bytes of a sparse layout stand for many values that are
 * missing, so the size of the blob does not bound them.
 */
export const MOST_VALUES = 2 ** 27;

/**
 * A piece of reading. It yields each ticker as soon as it is complete (of a price blob: with its price columns
 * only), and undefined where more bytes are needed.
 */
export type Steps<T> = Generator<TickerFeatures | undefined, T, void>;

/** What the readers of all layouts share while one blob is read. */
export interface Reading {
  readonly kind: BlobKind;
  readonly source: string;
  readonly json: JsonReader;
  readonly store: BlockStore;
  readonly roles: ColumnRoles;
  readonly limits: BlobLimits;
  readonly names: BlobNames;
  /** Every ticker found so far. */
  readonly tickers: Set<string>;
  /** Room for the columns of the ticker that is being read. */
  readonly room: Doubles;
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
  /** Rows. */
  readonly n: number;
}

/**
 * Notes that a ticker was found.
 * @throws MucastError invalid_data where it was there already, or has no price column in a price blob; too_large
 *   beyond the limit.
 */
export function claimTicker(reading: Reading, { ticker, offset, columns, n }: FoundTicker): void {
  const position = positionOf(reading, offset, ticker);
  checkValueCount(reading, columns.length * n, offset, ticker);
  if (reading.tickers.has(ticker)) throw invalid(position, "comes twice");
  if (reading.kind === "prices") priceColumn(reading.roles, columns, position);
  reading.tickers.add(keepTicker(reading, reading.tickers.size, ticker, offset));
}

/**
 * Notes the name of a ticker that is kept beside `count` others.
 * @throws MucastError too_large where there are as many as there may be, or their names are too long.
 */
export function keepTicker(reading: Reading, count: number, ticker: string, offset: number): string {
  const { tickers } = reading.limits;
  if (count < tickers) return reading.names.ticker(ticker, positionOf(reading, offset));
  const what = `is one more than the ${tickers} tickers that a blob may have (${BLOB_BOUNDS.tickers.env})`;
  throw tooLarge(positionOf(reading, offset, ticker), what);
}

/** @throws MucastError too_large where a ticker has as many columns as it may. */
export function checkColumnCount(reading: Reading, count: number, offset: number, ticker?: string): void {
  if (count < MOST_COLUMNS) return;
  throw tooLarge(positionOf(reading, offset, ticker), `has more than ${MOST_COLUMNS} columns`);
}

/** @throws MucastError too_large where a ticker has more values than it may. */
export function checkValueCount(reading: Reading, count: number, offset: number, ticker?: string): void {
  if (count <= MOST_VALUES) return;
  const what = `has more than ${MOST_VALUES} values, columns times rows`;
  throw tooLarge(positionOf(reading, offset, ticker), what);
}

/** What a token is, in the words of an error. */
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

/** Path of a cell, for errors. */
export function pathOf(ticker: string, ...keys: readonly (string | number)[]): string {
  return keys.reduce<string>((path, key) => {
    if (typeof key === "number") return `${path}[${key}]`;
    return /^[\w$-]{1,60}$/.test(key) && !/^\d/.test(key) ? `${path}.${key}` : `${path}[${quote(key)}]`;
  }, shortened(ticker));
}

function shortened(ticker: string): string {
  return /^[^\s"[\]\p{C}]{1,60}$/u.test(ticker) ? ticker : quote(ticker);
}
