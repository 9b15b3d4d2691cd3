import { MAX_COLUMNS } from "../contract/market/ticker-series.ts";
import { type ZoneCalendar, zoneCalendar } from "./date-text.ts";
import { invalid, quote, tooLarge } from "./faults.ts";
import { plainName, priceColumn, priceColumns, TICKER_NAMES } from "./field-names.ts";
import { isMembers, type Members, type Reading } from "./reading.ts";

type ColumnKind = "integer" | "number" | "day" | "local time" | "instant" | "text" | "other";

/** A column of a Parquet table. */
export interface Column {
  readonly name: string;
  /** As DuckDB names it, in lower case. */
  readonly type: string;
  readonly kind: ColumnKind;
  /** Its name in queries: a Parquet file may have equal names. */
  readonly alias: string;
}

const MAX_DECIMAL_DIGITS = 38;

/** @param precision of a decimal. */
export function columnOf(name: string, place: number, described: string, precision: number): Column {
  const alias = `c${place}`;
  // DuckDB takes decimals of more digits for doubles, and their bytes for others.
  if (precision > MAX_DECIMAL_DIGITS)
    return { name, alias, kind: "other", type: `decimal of more than ${MAX_DECIMAL_DIGITS} digits` };
  const type = described.toLowerCase();
  return { name, alias, kind: KINDS.find(([types]) => types.test(type))?.[1] ?? "other", type };
}

const KINDS: readonly (readonly [RegExp, ColumnKind])[] = [
  [/^u?(tinyint|smallint|integer|bigint|hugeint)$/, "integer"],
  [/^(float|double|decimal\(.*\))$/, "number"],
  [/^date$/, "day"],
  [/^timestamp with time zone$/, "instant"],
  [/^timestamp(_\w+)?$/, "local time"],
  [/^(varchar|enum\(.*\))$/, "text"],
];

/** The columns of a table that a blob consists of. */
export interface TableColumns {
  readonly date: Column;
  /** Undefined for prices with a column per ticker. */
  readonly ticker: Column | undefined;
  /** Features, the one price column, or a column per ticker, by the name of the feature, the price or the ticker. */
  readonly values: ReadonlyMap<string, Column>;
}

/**
 * Finds the columns of a table, by the rules of names that JSON has. An index of pandas without a known name is the date or the ticker by
 * its type, if no column has that name; otherwise it only numbers the rows.
 *
 * @throws MucastError invalid_data if a column is missing, ambiguous or of a type that it may not have; too_large over MAX_COLUMNS.
 */
export function chooseColumns(
  reading: Reading,
  all: readonly Column[],
  index: ReadonlySet<string>,
): TableColumns {
  const { roles } = reading;
  const fault = (what: string, advice?: string) => invalid(reading.position(), `the table ${what}`, advice);
  const names = all.map(({ name }) => name);
  const named = (role: "date" | "ticker") => {
    const best = roles.best(names, role, fault);
    return all.find(({ name }) => name === best);
  };
  const others = all.filter(({ name }) => !["date", "ticker"].includes(roles.of(name).role));
  const indexOf = (kinds: readonly ColumnKind[]) =>
    others.find(({ name, kind }) => index.has(name) && kinds.includes(kind));
  const date = named("date") ?? indexOf(["day", "local time", "instant"]);
  const ticker = named("ticker") ?? indexOf(["text"]) ?? tickersByName(reading, others);
  if (date === undefined) throw fault("has no column of dates; date or timestamp is expected");

  const data = others.filter((column) => column !== date && column !== ticker && !index.has(column.name));
  const values = valueColumns(reading, data, ticker, fault);
  const check = ({ name, kind, type }: Column, isRight: boolean, expected: string) => {
    if (isRight && kind !== "other") return;
    throw fault(`has the column ${quote(name)} of type ${type}; ${expected} are expected`);
  };
  check(date, date.type !== "float", "dates, timestamps or texts");
  if (ticker !== undefined)
    check(ticker, ticker.kind === "text" || ticker.kind === "integer", "texts or integers");
  for (const column of values.values())
    check(column, column.kind === "number" || column.kind === "integer", "numbers");
  if (values.size > MAX_COLUMNS)
    throw tooLarge(reading.position(), `the table has more than ${MAX_COLUMNS} columns`);
  return { date, ticker, values };
}

/** A column of texts or whole numbers whose name often means a ticker, the best first. */
function tickersByName({ roles }: Reading, columns: readonly Column[]): Column | undefined {
  const rank = ({ name }: Column) => TICKER_NAMES.indexOf(plainName(name));
  const hasPrice = columns.some(({ name }) => roles.of(name).role === "price");
  const isTicker = ({ kind }: Column) => kind === "text" || (hasPrice && kind === "integer");
  return columns
    .filter((column) => rank(column) >= 0 && isTicker(column))
    .sort((a, b) => rank(a) - rank(b))[0];
}

function valueColumns(
  reading: Reading,
  data: readonly Column[],
  ticker: Column | undefined,
  fault: (what: string, advice?: string) => Error,
): ReadonlyMap<string, Column> {
  const names = data.map(({ name }) => name);
  if (new Set(names).size < names.length)
    throw fault(`has two columns ${quote(names.find((name, i) => names.indexOf(name) < i)!)}`);
  if (reading.kind === "features") {
    if (ticker !== undefined) return new Map(names.map((name, i) => [name, data[i]!]));
    throw fault(`has no column of tickers; one of ${TICKER_NAMES.join(", ")} is expected`);
  }
  if (ticker === undefined) {
    const columns = priceColumns(names, reading.ticker, fault);
    return new Map([...columns].map(([name, i]) => [name, data[i]!]));
  }
  if (reading.ticker !== undefined)
    throw fault(`names its tickers in ${quote(ticker.name)}; leave out --ticker`);
  const price = priceColumn(names, fault);
  return new Map([[names[price]!, data[price]!]]);
}

/** What pandas writes into the metadata of a file. A malformed or missing entry says nothing. */
export class PandasMetadata {
  /** The attributes of the DataFrame (`df.attrs`). */
  readonly attributes: Members;
  readonly #table: Members;

  constructor(metadata: ReadonlyMap<string, string>) {
    this.#table = jsonObject(metadata.get("pandas"));
    this.attributes = jsonObject(metadata.get("PANDAS_ATTRS"));
  }

  /** The columns that are an index. Other tools keep the names that pandas gives to an index without one, and drop its metadata. */
  index(columns: readonly string[]): ReadonlySet<string> {
    const { index_columns: listed } = this.#table;
    const names = Array.isArray(listed) ? listed.filter((name) => typeof name === "string") : [];
    return new Set([...names, ...columns.filter((name) => /^__index_level_\d+__$/.test(name))]);
  }

  /** The time zone of a column; undefined without one, and for a zone that this machine does not know. */
  zone(column: string): ZoneCalendar | undefined {
    const { columns } = this.#table;
    const found = Array.isArray(columns) ? columns.find((each) => each?.field_name === column) : undefined;
    const zone = found?.metadata?.timezone;
    try {
      return typeof zone === "string" ? zoneCalendar(zone) : undefined;
    } catch {
      return undefined;
    }
  }
}

function jsonObject(text = "{}"): Members {
  try {
    const value: unknown = JSON.parse(text);
    return isMembers(value) ? value : {};
  } catch {
    return {};
  }
}
