import { MucastError } from "../../contract/errors/errors.ts";
import { show } from "../../contract/errors/faults.ts";
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
const TICKER_NAMES = ["ticker", "symbol", "tic", "asset", "security"];
/** In order of preference. */
const PRICE_NAMES = [
  "adjclose",
  "adjustedclose",
  "adjprice",
  "adjustedprice",
  "close",
  "closeprice",
  "price",
  "pxlast",
];
const BAR_NAMES = ["open", "high", "low", "close", "adjclose", "volume"];

/**
 * Finds the layout by the header. Case, spaces and punctuation in names are ignored (`Adj Close`, `adj_close`).
 * @param second the first row after the header: a wide file may have a ticker called TIC, whose cells are prices.
 * @throws MucastError invalid_data if the header fits neither a wide nor a long file.
 */
export function layoutOf(
  header: readonly string[],
  source: string,
  second: readonly string[] = [],
): PriceLayout {
  const names = header.map(plainName);
  const ticker = firstOf(names, TICKER_NAMES);
  const price = firstOf(names, PRICE_NAMES);
  const date = dateColumn(header, names, source, PRICE_FORM);
  if (ticker !== undefined && price !== undefined) {
    checkSingle(names, [date, ticker, price], header, source, PRICE_FORM);
    return { kind: "long", date, ticker, price };
  }
  if (ticker !== undefined && isName(second[ticker])) {
    throw unfit(
      source,
      `has a ticker column, ${show(header[ticker])}, but no price column; its columns are ${listed(header)}, and none is called a price`,
      PRICE_FORM,
      PRICE_NAMES,
    );
  }
  const bars = BAR_NAMES.filter((name) => names.includes(name));
  if (bars.includes("close") && bars.length > 1) {
    throw unfit(
      source,
      `has the bars of one security (${bars.join(", ")}) but no column that names its ticker`,
      PRICE_FORM,
    );
  }
  return { kind: "wide", date, tickers: tickerColumns(header, date, source) };
}

/**
 * Finds the columns of a feature CSV by the header, with the names of date and ticker that a price CSV has.
 * @throws MucastError invalid_data if a column is missing or comes twice.
 */
export function featureLayoutOf(header: readonly string[], source: string): FeatureLayout {
  const names = header.map(plainName);
  const date = dateColumn(header, names, source, FEATURE_FORM);
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

/** The columns of a security's history from yfinance. */
const HISTORY_NAMES = [...BAR_NAMES, "dividends", "stocksplits", "capitalgains"];

/**
 * Refuses two header rows, one of prices and one of tickers, in either order.
 * @param second the first row after the header.
 * @throws MucastError invalid_data.
 */
export function checkSingleHeader(
  header: readonly string[],
  second: readonly string[],
  source: string,
): void {
  const [prices, below] = [header, second].map((row) => row.slice(1).filter((cell) => cell !== ""));
  const arePrices = (names: readonly string[] = []) =>
    names.length > 0 && names.every((name) => HISTORY_NAMES.includes(plainName(name)));
  const hasNames = below!.some(isName);
  const beginsWithDate = /^\d/.test(second[0] ?? "");
  if (beginsWithDate || (!(arePrices(prices) && hasNames) && !arePrices(below))) return;
  throw unfit(
    source,
    "has a row of tickers beside its row of headers, as yfinance writes it: write the closes alone, " +
      'as data["Close"].to_csv("prices.csv") does',
    PRICE_FORM,
  );
}

/** Whether a cell has a name, such as a ticker, rather than a number. */
function isName(cell = ""): boolean {
  return /[A-Za-z]/.test(cell) && !isMissing(cell);
}

function plainName(name: string): string {
  return name.toLowerCase().replaceAll(/[^a-z0-9]/g, "");
}

function firstOf(names: readonly string[], wanted: readonly string[]): number | undefined {
  const found = wanted.find((name) => names.includes(name));
  return found === undefined ? undefined : names.indexOf(found);
}

/** pandas writes its index without a name, and reads such a column back as `Unnamed: 0`. */
function isUnnamed(name: string): boolean {
  return name === "" || /^Unnamed: \d+(?:_level_\d+)?$/.test(name);
}

function dateColumn(
  header: readonly string[],
  names: readonly string[],
  source: string,
  form: string,
): number {
  const named = firstOf(names, DATE_NAMES);
  if (named !== undefined) return named;
  if (header.length > 1 && isUnnamed(header[0]!)) return 0;
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

function tickerColumns(header: readonly string[], date: number, source: string): ReadonlyMap<string, number> {
  const tickers = namedColumns(header, [date], source, PRICE_FORM);
  if (tickers.size === 0) throw unfit(source, "has a date column but no ticker column", PRICE_FORM);
  return tickers;
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
