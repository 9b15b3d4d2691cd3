import { MucastError } from "../../contract/errors/errors.ts";
import { show } from "../../contract/errors/faults.ts";
import {
  fieldRank,
  isPrice,
  plainName,
  priceColumn,
  priceColumns,
  TICKER_NAMES,
} from "../../ingest/field-names.ts";
import { isUnnamed } from "../../ingest/row-numbers.ts";
import { stampOf } from "./csv-dates.ts";
import { isMissing } from "./csv-numbers.ts";

/** The columns of a price CSV, by index from 0. */
export type PriceLayout =
  /** One row per date, one column per ticker. */
  | { readonly kind: "wide"; readonly date: number; readonly tickers: ReadonlyMap<string, number> }
  /** One row per ticker and date. */
  | { readonly kind: "long"; readonly date: number; readonly ticker: number; readonly price: number };

/** The columns of a feature CSV, by index from 0: one row per ticker and date. */
export interface FeatureLayout {
  readonly date: number;
  readonly ticker: number;
  /** All other columns that have a name. */
  readonly features: ReadonlyMap<string, number>;
}

const DATE_NAMES = ["date", "timestamp", "datetime", "tradedate", "pricedate", "day"];
/**
 * Finds the layout by the header, by the names of ingest/field-names.ts.
 * @param ticker the name of the security, if the file does not name it.
 * @param second the first row after the header: a wide file may have a ticker called TIC, whose cells are prices.
 */
export function layoutOf(
  header: readonly string[],
  source: string,
  ticker: string | undefined,
  second: readonly string[] = [],
): PriceLayout {
  const names = header.map(plainName);
  const tickers = firstOf(names, TICKER_NAMES);
  const date = dateColumn(header, second, source, PRICE_FORM);
  const fault = (problem: string) => unfit(source, problem, PRICE_FORM);
  if (tickers !== undefined) {
    const rest = header.map((name, column) => (column === date || column === tickers ? "" : name));
    const isLong = rest.some(isPrice);
    if (isLong && ticker !== undefined)
      throw fault(`names its tickers in ${show(header[tickers])}; leave out --ticker`);
    if (isLong) {
      checkSingle(names, [date, tickers], header, source, PRICE_FORM);
      return { kind: "long", date, ticker: tickers, price: priceColumn(rest, fault) };
    }
    // No ticker has more than five letters.
    if (isName(second[tickers]) || names[tickers]!.length > 5)
      throw fault(
        `has a ticker column, ${show(header[tickers])}, but no price column; its columns are ${listed(header)}, and none is called a price`,
      );
  }
  const columns = namedColumns(header, [date], source, PRICE_FORM);
  if (columns.size === 0) throw fault("has a date column but no ticker column");
  const prices = priceColumns([...columns.keys()], ticker, fault);
  const indices = [...columns.values()];
  return { kind: "wide", date, tickers: new Map([...prices].map(([name, i]) => [name, indices[i]!])) };
}

/** Finds the columns of a feature CSV by the header, with the names of date and ticker that a price CSV has. */
export function featureLayoutOf(
  header: readonly string[],
  source: string,
  second: readonly string[] = [],
): FeatureLayout {
  const names = header.map(plainName);
  const date = dateColumn(header, second, source, FEATURE_FORM);
  const ticker = firstOf(names, TICKER_NAMES);
  if (ticker === undefined)
    throw unfit(
      source,
      `has no ticker column; its columns are ${listed(header)}`,
      FEATURE_FORM,
      TICKER_NAMES,
    );
  checkSingle(names, [date, ticker], header, source, FEATURE_FORM);
  const features = namedColumns(header, [date, ticker], source, FEATURE_FORM);
  if (features.size === 0)
    throw unfit(source, "has a date and a ticker column but no column of a feature", FEATURE_FORM);
  return { date, ticker, features };
}

const PRICE_FORM = "a price CSV is wide (Date, then a column per ticker) or long (Date, Ticker, Adj Close)";
const FEATURE_FORM = "a table of features is long (Date, Ticker, then a column per feature)";

/**
 * The header of two rows, one of fields and one of tickers, in either order, as yfinance writes it; undefined if `second` is no header.
 * A third one may have nothing but the name of the dates.
 */
export function joinedHeader(header: readonly string[], second: readonly string[]): string[] | undefined {
  const [above, below] = [header, second].map((row) => row.slice(1));
  const areFields = (names: readonly string[] = []) =>
    names.length > 0 && names.every((name) => fieldRank(name.replace(/\.\d+$/, "")) !== undefined);
  if (/\d/.test(second[0] ?? "")) return undefined;
  if (below!.every((name) => name === "") && /^\(/.test(header.at(-1)!)) return [...header];
  const areNames = below!.every((name) => name !== "") && below!.some((name) => /[A-Za-z]/.test(name));
  if (!(areFields(above) && areNames) && !areFields(below)) return undefined;
  return ["Date", ...above!.map((name, i) => `('${name.replace(/\.\d+$/, "")}', '${below![i]}')`)];
}

/** Whether a cell has a name, such as a ticker, rather than a number. */
function isName(cell = ""): boolean {
  return /[A-Za-z]/.test(cell) && !isMissing(cell);
}

function firstOf(names: readonly string[], wanted: readonly string[]): number | undefined {
  const found = wanted.find((name) => names.includes(name));
  return found === undefined ? undefined : names.indexOf(found);
}

/** Of a column with such a name and an unnamed index, the one with a date in the first row: a ticker may be called DAY. */
function dateColumn(
  header: readonly string[],
  second: readonly string[],
  source: string,
  form: string,
): number {
  const named = firstOf(header.map(plainName), DATE_NAMES);
  const hasIndex = header.length > 1 && isUnnamed(header[0]!);
  const isDate = (cell = "") => stampOf(cell) !== undefined;
  if (hasIndex && (named === undefined || (isDate(second[0]) && !isDate(second[named])))) return 0;
  if (named !== undefined) return named;
  throw unfit(source, `has no date column; its columns are ${listed(header)}`, form, DATE_NAMES);
}

function checkSingle(
  names: readonly string[],
  used: readonly number[],
  header: readonly string[],
  source: string,
  form: string,
) {
  for (const column of used) {
    if (names.indexOf(names[column]!) !== names.lastIndexOf(names[column]!)) {
      throw unfit(source, `has two columns called ${show(header[column])}`, form);
    }
  }
}

/** The columns that have a name, besides those that are used otherwise. */
function namedColumns(
  header: readonly string[],
  used: readonly number[],
  source: string,
  form: string,
): ReadonlyMap<string, number> {
  const columns = new Map<string, number>();
  header.forEach((name, column) => {
    if (used.includes(column) || isUnnamed(name)) return;
    if (columns.has(name)) throw unfit(source, `has two columns called ${show(name)}`, form);
    columns.set(name, column);
  });
  return columns;
}

function listed(header: readonly string[]): string {
  const columns = header.slice(0, 12).map(show);
  return columns.join(", ") + (header.length > 12 ? ", ..." : "");
}

/** @param form what a file of this kind looks like. */
function unfit(source: string, problem: string, form: string, accepted?: readonly string[]): MucastError {
  return new MucastError("invalid_data", `${source} ${problem}`, {
    source,
    line: 1,
    advice: `Change the header: ${form}. docs/prepare.md has examples.`,
    ...(accepted ? { accepted } : {}),
  });
}
