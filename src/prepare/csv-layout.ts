import { MucastError } from "../contract/errors/errors.ts";
import { show } from "../contract/errors/faults.ts";
import {
  fieldRank,
  isPrice,
  plainName,
  priceColumn,
  priceColumns,
  TICKER_NAMES,
} from "../ingest/field-names.ts";
import { isUnnamed } from "../ingest/row-numbers.ts";
import { isDate } from "./csv-dates.ts";
import { isMissing } from "./csv-numbers.ts";

/** The columns of a CSV that are read, by index from 0. */
export interface CsvLayout {
  readonly date: number;
  /** Undefined for prices with a column per ticker. */
  readonly ticker: number | undefined;
  /** By the name of a feature or a ticker; of a long table of prices only `price`. */
  readonly values: ReadonlyMap<string, number>;
}

/** The best first. */
const DATE_NAMES = ["date", "timestamp", "datetime", "tradedate", "pricedate", "day", "time", "opentime"];

/** The names of the columns, and errors about them. */
class Header {
  readonly names: readonly string[];
  readonly #plain: readonly string[];
  readonly #source: string;
  readonly #form: string;

  /** @param form what a file of this kind looks like. */
  constructor(names: readonly string[], source: string, form: string) {
    this.names = names;
    this.#plain = names.map(plainName);
    this.#source = source;
    this.#form = form;
  }

  get shown(): string {
    return this.names.slice(0, 12).map(show).join(", ") + (this.names.length > 12 ? ", ..." : "");
  }

  fault(problem: string, accepted?: readonly string[]): MucastError {
    const advice = `Change the header: ${this.#form}. docs/prepare.md has examples.`;
    const data = { source: this.#source, line: 1, advice, ...(accepted ? { accepted } : {}) };
    return new MucastError("invalid_data", `${this.#source} ${problem}`, data);
  }

  missing(what: string, accepted: readonly string[]): MucastError {
    return this.fault(`has no ${what} column; its columns are ${this.shown}`, accepted);
  }

  /** The column with the first of these names. */
  find(wanted: readonly string[]): number | undefined {
    const name = wanted.find((each) => this.#plain.includes(each));
    if (name === undefined) return undefined;
    const column = this.#plain.indexOf(name);
    if (this.#plain.includes(name, column + 1))
      throw this.fault(`has two columns called ${show(this.names[column])}`);
    return column;
  }

  /** Also of an index without a name, if that has a date in the first row: a ticker may be called DAY. */
  findDate(first: readonly string[]): number {
    const column = this.find(DATE_NAMES);
    const isIndex = this.names.length > 1 && isUnnamed(this.names[0]!);
    if (isIndex && (column === undefined || (isDate(first[0] ?? "") && !isDate(first[column] ?? ""))))
      return 0;
    if (column === undefined) throw this.missing("date", DATE_NAMES);
    return column;
  }

  /** The other columns that have a name. */
  columnsBeside(...used: readonly number[]): ReadonlyMap<string, number> {
    const columns = new Map<string, number>();
    for (const [column, name] of this.names.entries()) {
      if (used.includes(column) || isUnnamed(name)) continue;
      if (columns.has(name)) throw this.fault(`has two columns called ${show(name)}`);
      columns.set(name, column);
    }
    return columns;
  }
}

/** Finds the columns of features by the names of the header. @param first the row below the header. */
export function findFeatureLayout(
  names: readonly string[],
  first: readonly string[],
  source: string,
): CsvLayout {
  const form = "a table of features is long (Date, Ticker, then a column per feature)";
  const header = new Header(names, source, form);
  const date = header.findDate(first);
  const ticker = header.find(TICKER_NAMES);
  if (ticker === undefined) throw header.missing("ticker", TICKER_NAMES);
  const values = header.columnsBeside(date, ticker);
  if (values.size === 0) throw header.fault("has a date and a ticker column but no column of a feature");
  return { date, ticker, values };
}

/**
 * Finds the columns of prices by the names of the header.
 * @param first the row below the header, in which a ticker called TIC has a price.
 * @param security the ticker of prices that do not name it.
 */
export function findPriceLayout(
  names: readonly string[],
  first: readonly string[],
  source: string,
  security: string | undefined,
): CsvLayout {
  const form = "a price CSV is wide (Date, then a column per ticker) or long (Date, Ticker, Adj Close)";
  const header = new Header(names, source, form);
  const fault = (problem: string) => header.fault(problem);
  const date = header.findDate(first);
  const ticker = header.find(TICKER_NAMES);
  if (ticker !== undefined) {
    const name = names[ticker]!;
    const fields = names.map((each, column) => (column === date || column === ticker ? "" : each));
    if (fields.some(isPrice)) {
      if (security !== undefined) throw fault(`names its tickers in ${show(name)}; leave out --ticker`);
      return { date, ticker, values: new Map([["price", priceColumn(fields, fault)]]) };
    }
    const cell = first[ticker] ?? "";
    // No ticker has more than five letters.
    if ((/[A-Za-z]/.test(cell) && !isMissing(cell)) || plainName(name).length > 5)
      throw fault(
        `has a ticker column, ${show(name)}, but no price column; its columns are ${header.shown}, and none is called a price`,
      );
  }
  const columns = header.columnsBeside(date);
  if (columns.size === 0) throw fault("has a date column but no ticker column");
  const prices = priceColumns([...columns.keys()], security, fault);
  const indices = [...columns.values()];
  return { date, ticker: undefined, values: new Map([...prices].map(([name, i]) => [name, indices[i]!])) };
}

/**
 * The header of two rows, one of fields and one of tickers, in either order, as yfinance writes it; undefined if `below` is no header. A third
 * one may have nothing but the name of the dates.
 */
export function joinHeaders(above: readonly string[], below: readonly string[]): string[] | undefined {
  const [upper, lower] = [above.slice(1), below.slice(1)];
  const isField = (name: string) => fieldRank(name.replace(/\.\d+$/, "")) !== undefined;
  const areFields = (names: readonly string[]) => names.length > 0 && names.every(isField);
  if (/\d/.test(below[0]!)) return undefined;
  if (lower.every((name) => name === "") && above.at(-1)!.startsWith("(")) return [...above];
  const areNames = lower.every((name) => name !== "") && lower.some((name) => /[A-Za-z]/.test(name));
  if (!(areFields(upper) && areNames) && !areFields(lower)) return undefined;
  return ["Date", ...upper.map((name, i) => `('${name.replace(/\.\d+$/, "")}', '${lower[i]}')`)];
}
