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

/**
 * Finds the columns by the names of the header.
 * @param first the first row below the header: an index without a name may have dates, and a ticker may be called DAY or TIC.
 * @param security the ticker of prices that do not name it.
 */
export function findLayout(
  kind: "prices" | "features",
  header: readonly string[],
  first: readonly string[],
  source: string,
  security: string | undefined,
): CsvLayout {
  const form =
    kind === "prices"
      ? "a price CSV is wide (Date, then a column per ticker) or long (Date, Ticker, Adj Close)"
      : "a table of features is long (Date, Ticker, then a column per feature)";
  const fault = (problem: string, accepted?: readonly string[]) =>
    new MucastError("invalid_data", `${source} ${problem}`, {
      ...{ source, line: 1, advice: `Change the header: ${form}. docs/prepare.md has examples.` },
      ...(accepted ? { accepted } : {}),
    });
  const shown = header.slice(0, 12).map(show).join(", ") + (header.length > 12 ? ", ..." : "");
  const missing = (what: string, names: readonly string[]) =>
    fault(`has no ${what} column; its columns are ${shown}`, names);
  const plain = header.map(plainName);
  const find = (names: readonly string[]) => {
    const name = names.find((each) => plain.includes(each));
    return name === undefined ? undefined : plain.indexOf(name);
  };
  const namedDate = find(DATE_NAMES);
  const isIndex =
    header.length > 1 &&
    isUnnamed(header[0]!) &&
    (namedDate === undefined || (isDate(first[0] ?? "") && !isDate(first[namedDate] ?? "")));
  const date = isIndex ? 0 : namedDate;
  if (date === undefined) throw missing("date", DATE_NAMES);
  const ticker = find(TICKER_NAMES);
  const others = (used: readonly (number | undefined)[]) => {
    const columns = new Map<string, number>();
    for (const [column, name] of header.entries()) {
      if (used.includes(column) || isUnnamed(name)) continue;
      if (columns.has(name)) throw fault(`has two columns called ${show(name)}`);
      columns.set(name, column);
    }
    return columns;
  };
  const checkOnce = () => {
    for (const column of [date, ticker!])
      if (plain.indexOf(plain[column]!) !== plain.lastIndexOf(plain[column]!))
        throw fault(`has two columns called ${show(header[column])}`);
  };
  if (kind === "features") {
    if (ticker === undefined) throw missing("ticker", TICKER_NAMES);
    checkOnce();
    const values = others([date, ticker]);
    if (values.size === 0) throw fault("has a date and a ticker column but no column of a feature");
    return { date, ticker, values };
  }
  if (ticker !== undefined) {
    const fields = header.map((name, column) => (column === date || column === ticker ? "" : name));
    if (fields.some(isPrice)) {
      if (security !== undefined)
        throw fault(`names its tickers in ${show(header[ticker])}; leave out --ticker`);
      checkOnce();
      return { date, ticker, values: new Map([["price", priceColumn(fields, (problem) => fault(problem))]]) };
    }
    const cell = first[ticker] ?? "";
    // No ticker has more than five letters.
    if ((/[A-Za-z]/.test(cell) && !isMissing(cell)) || plain[ticker]!.length > 5)
      throw fault(
        `has a ticker column, ${show(header[ticker])}, but no price column; its columns are ${shown}, and none is called a price`,
      );
  }
  const columns = others([date]);
  if (columns.size === 0) throw fault("has a date column but no ticker column");
  const prices = priceColumns([...columns.keys()], security, (problem) => fault(problem));
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
