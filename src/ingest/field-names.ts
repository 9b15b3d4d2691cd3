/** The names of dates, tickers, prices and other fields, in one table for CSV, Parquet and JSON. */
import { quote } from "./faults.ts";

/** Columns that name a row's ticker, the best first. */
export const TICKER_NAMES =
  "ticker symbol tic asset security code tscode stockcode permno stock instrument ric isin name company".split(
    " ",
  );

/** Closes that are not adjusted, the best first. */
const CLOSES = "close closeprice closingprice closelast price lastprice last pxlast prc settle".split(" ");

/** What else the history of a security has. */
const OTHER_FIELDS = new Set(
  (
    "open high low volume vol change changepercent chg pctchange return ret dividends dividendamount dividend exdividend divcash " +
    "stocksplits splitcoefficient splitratio splitfactor factor capitalgains repaired turnover value vwap amount bid ask openinterest"
  ).split(" "),
);

const ADJUSTED = 0;
const NO_PRICE = Number.POSITIVE_INFINITY;

/** How the caller of this module reports a problem. */
export type Fault = (problem: string, advice?: string) => Error;

/** The kind of blob. Of `prices`, only price columns are read; of `features`, every column. */
export type BlobKind = "prices" | "features";

/** An array of dates is often called `dates`. */
const DATE_RANKS = new Map(Object.entries({ date: 0, timestamp: 1, dates: 0 }));
const TICKER_RANKS = new Map(Object.entries({ ticker: 0, symbol: 1 }));

/** The role of a key in a record, or of a column; a `name` is a ticker if there is no other. Of several, the lowest rank counts. */
interface ColumnRole {
  readonly role: "date" | "ticker" | "name" | "price" | "value";
  readonly rank: number;
  /** Whether this kind of blob consists of its values. */
  readonly isValue: boolean;
}

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

  /**
   * The best of the names that have a role. A blob of prices may have several. In one of features the others would silently be no features,
   * so they are a fault.
   */
  best(names: readonly string[], role: "date" | "ticker" | "name", fault: Fault): string | undefined {
    const having = names.filter((name) => this.of(name).role === role);
    if (having.length < 2) return having[0];
    const [best, next] = having.sort((a, b) => this.of(a).rank - this.of(b).rank);
    if (this.#kind === "features" || this.of(best!).rank === this.of(next!).rank)
      throw fault(`has two ${role}s, ${quote(best!)} and ${quote(next!)}`);
    return best;
  }

  #find(name: string): ColumnRole {
    const plain = plainName(name);
    const isPrices = this.#kind === "prices";
    const ranks = { date: DATE_RANKS.get(plain), ticker: TICKER_RANKS.get(plain) };
    if (ranks.date !== undefined) return { role: "date", rank: ranks.date, isValue: false };
    if (ranks.ticker !== undefined) return { role: "ticker", rank: ranks.ticker, isValue: false };
    if (!isPrices) return { role: "value", rank: 0, isValue: true };
    if (isPrice(name)) return { role: "price", rank: 0, isValue: true };
    const rank = TICKER_NAMES.indexOf(plain);
    return { role: rank < 0 ? "value" : "name", rank, isValue: false };
  }
}

/** A name without case, spaces, punctuation and the number that Alpha Vantage puts before it (`4. close`). */
export function plainName(name: string): string {
  return name
    .replace(/^\d+\. /, "")
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]/gu, "");
}

/**
 * The place of a field among prices: 0 for an adjusted close, however it is spelt (`Adj. Close`, `closeadj`, `adjusted`), and infinity for
 * a field that is no price. Undefined for any other name.
 */
export function fieldRank(name: string): number | undefined {
  const plain = plainName(name);
  const raw = plain.replaceAll(/split|adjust(?:ed|ment)?|adj/g, "");
  const isAdjusted = plain !== raw && plain.includes("adj");
  if (plain === "adjusted" || (isAdjusted && CLOSES.includes(raw))) return ADJUSTED;
  if (CLOSES.includes(plain)) return 1 + CLOSES.indexOf(plain);
  return OTHER_FIELDS.has(plain) || (isAdjusted && OTHER_FIELDS.has(raw)) ? NO_PRICE : undefined;
}

export function isPrice(name: string): boolean {
  return (fieldRank(name) ?? NO_PRICE) !== NO_PRICE;
}

/** The column of the price: the adjusted close, or else the best of the others. */
export function priceColumn(columns: readonly string[], fault: Fault): number {
  const ranks = columns.map((name) => fieldRank(name) ?? NO_PRICE);
  const best = Math.min(NO_PRICE, ...ranks);
  if (best === NO_PRICE)
    throw fault(
      "has no price column; one of adj_close, close, price is expected",
      "Exchange the two URLs if this is the feature blob. Otherwise rename the column of the prices.",
    );
  const column = ranks.indexOf(best);
  const other = ranks.indexOf(best, column + 1);
  if (other < 0) return column;
  throw fault(`has two columns ${quote(columns[column]!)} and ${quote(columns[other]!)} for one price`);
}

/**
 * The price columns of a table without a column of tickers, by ticker: a column per ticker, or one per field and ticker as yfinance
 * writes them (`('Close', 'AAPL')`, `AAPL_Close`), or the fields of one security, whose name is `ticker`.
 */
export function priceColumns(
  columns: readonly string[],
  ticker: string | undefined,
  fault: Fault,
): ReadonlyMap<string, number> {
  if (ticker !== undefined) return new Map([[ticker, priceColumn(columns, fault)]]);
  const fields = columns.filter((name) => fieldRank(name) !== undefined);
  const plain = fields.map(plainName);
  // Among capitals, a single `LAST` or `CLOSE` is a ticker.
  const isTicker = fields.length === 1 && columns.length > 1 && columns.every((name) => !/[a-z]/.test(name));
  if ((fields.some(isPrice) && !isTicker) || ["open", "high", "low"].every((name) => plain.includes(name))) {
    const has = `has the fields of one security (${fields.slice(0, 6).map(quote).join(", ")}) but no ticker column`;
    throw fault(`${has} (${TICKER_NAMES.join(", ")}); name the security with --ticker, over HTTP ticker`);
  }
  const byTicker = fieldsByTicker(columns, fault);
  if (byTicker === undefined) return new Map(columns.map((name, column) => [name, column]));
  const priceOf = (name: string, pairs: readonly Pair[]) => {
    const missing = (problem: string) => fault(`${problem}, for ${quote(name)}`);
    return pairs[
      priceColumn(
        pairs.map(({ field }) => field),
        missing,
      )
    ]!.column;
  };
  return new Map([...byTicker].map(([name, pairs]) => [name, priceOf(name, pairs)]));
}

/** A column of one field of one ticker. */
interface Pair {
  readonly ticker: string;
  readonly field: string;
  readonly column: number;
}

/** @returns undefined if the columns are not fields of tickers. */
function fieldsByTicker(
  columns: readonly string[],
  fault: Fault,
): ReadonlyMap<string, readonly Pair[]> | undefined {
  for (const isFieldFirst of [true, false]) {
    const pairs = columns.flatMap((name, column) => pairOf(name, column, isFieldFirst) ?? []);
    const byTicker = Map.groupBy(pairs, (pair) => pair.ticker);
    const hasFields = [...byTicker.values()].some((each) => each.length > 1);
    if (!pairs.some(({ field }) => isPrice(field))) continue;
    if (!hasFields && !LEVELS.test(columns[0]!)) continue;
    if (pairs.length === columns.length) return byTicker;
    const odd = columns.find((_, column) => pairs.every((pair) => pair.column !== column))!;
    const one = quote(columns[pairs[0]!.column]!);
    throw fault(
      `has columns for the fields of tickers, such as ${one}, beside ${quote(odd)}; keep the prices`,
    );
  }
  return undefined;
}

const LEVELS = /^[([]\s*(['"])(.*)\1,\s*(['"])(.*)\3\s*[)\]]$/;
const SEPARATOR = /[_\s.:|/-]+/g;

/** Splits a name into a field and a ticker, the field as long as possible. */
function pairOf(name: string, column: number, isFieldFirst: boolean): Pair | undefined {
  const levels = LEVELS.exec(name);
  const splits =
    levels === null
      ? [...name.matchAll(SEPARATOR)].map(({ 0: { length }, index }) => [
          name.slice(0, index),
          name.slice(index + length),
        ])
      : [[levels[2]!, levels[4]!]];
  const pairs = splits.map(([left, right]) =>
    isFieldFirst ? { field: left!, ticker: right!, column } : { field: right!, ticker: left!, column },
  );
  const isPair = ({ field, ticker }: Pair) => ticker !== "" && fieldRank(field) !== undefined;
  return isFieldFirst ? pairs.findLast(isPair) : pairs.find(isPair);
}
