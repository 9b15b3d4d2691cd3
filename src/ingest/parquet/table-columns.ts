import { MAX_COLUMNS } from "../../contract/market/ticker-series.ts";
import { invalid, type Position, quote, tooLarge } from "../blob-errors.ts";
import type { ColumnRole } from "../column-names.ts";
import { plainName, priceColumn, priceColumns, TICKER_NAMES } from "../field-names.ts";
import { positionOf, type Reading } from "../reading.ts";
import type { Footer } from "./footer.ts";
import { isDated, isNumeric, isText } from "./numbers.ts";
import { indexColumns } from "./pandas-index.ts";
import { type LeafColumn, typeName } from "./schema.ts";

/** The columns of a table that a blob consists of, by their index. */
export interface TableColumns {
  readonly date: number;
  /** Undefined for prices with a column per ticker. */
  readonly ticker: number | undefined;
  /** Features, the one price column, or a column per ticker. */
  readonly values: readonly number[];
  /** Of the features or the price, or the tickers. */
  readonly names: readonly string[];
}

interface NamedColumn {
  readonly index: number;
  readonly column: LeafColumn;
  readonly role: ColumnRole;
  readonly isIndex: boolean;
}

/**
 * Finds the columns of a table, by the rules of names that JSON has. An index of pandas without a known name is the date or the ticker by
 * its type, if no column has that name; otherwise it only numbers the rows.
 */
export function tableColumns(reading: Reading, footer: Footer): TableColumns {
  const position = positionOf(reading, 0);
  const named = namedColumns(reading, footer);
  const others = named.filter(({ role }) => role.role !== "date" && role.role !== "ticker");
  const date =
    only(reading, named, "date", position) ??
    others.find(({ column, isIndex }) => isIndex && isDated(column));
  const ticker =
    only(reading, named, "ticker", position) ??
    others.find(({ column, isIndex }) => isIndex && isText(column)) ??
    tickersByName(others);
  if (date === undefined) {
    throw invalid(position, "the table has no column of dates; date or timestamp is expected");
  }
  checkDate(date, position);
  if (ticker !== undefined) checkTicker(ticker, position);
  const data = others.filter((each) => each !== date && each !== ticker && !each.isIndex);
  const values = valueColumns(reading, data, ticker, position);
  for (const { column } of values.values()) {
    if (isNumeric(column)) continue;
    const what = `the column ${quote(column.name)} is of type ${typeName(column)}; float, double, int32 or int64 is expected`;
    throw invalid(position, what);
  }
  if (values.size > MAX_COLUMNS) throw tooLarge(position, `the table has more than ${MAX_COLUMNS} columns`);
  return {
    date: date.index,
    ticker: ticker?.index,
    values: [...values.values()].map(({ index }) => index),
    names: [...values.keys()],
  };
}

function namedColumns(reading: Reading, { columns, metadata }: Footer): readonly NamedColumn[] {
  const index = indexColumns(
    columns.map(({ name }) => name),
    metadata,
  );
  return columns.map((column, i) => {
    const { name } = column;
    return { index: i, column, role: reading.roles.of(name), isIndex: index.has(name) };
  });
}

/** A column of texts or whole numbers whose name often means a ticker, the best first. */
function tickersByName(columns: readonly NamedColumn[]): NamedColumn | undefined {
  const rank = ({ column }: NamedColumn) => TICKER_NAMES.indexOf(plainName(column.name));
  const hasPrice = columns.some(({ role }) => role.role === "price");
  return columns
    .filter((each) => rank(each) >= 0 && (isText(each.column) || (hasPrice && isWhole(each.column))))
    .sort((a, b) => rank(a) - rank(b))[0];
}

/** The columns to read, by the name of the feature, the price or the ticker. */
function valueColumns(
  reading: Reading,
  data: readonly NamedColumn[],
  ticker: NamedColumn | undefined,
  position: Position,
): ReadonlyMap<string, NamedColumn> {
  const names = data.map(({ column }) => column.name);
  const fault = (what: string) => invalid(position, `the table ${what}`);
  if (reading.kind === "features") {
    if (ticker === undefined)
      throw fault(`has no column of tickers; one of ${TICKER_NAMES.join(", ")} is expected`);
    return new Map(names.map((name, i) => [name, data[i]!]));
  }
  if (ticker === undefined) {
    const columns = priceColumns(names, reading.ticker, fault);
    return new Map([...columns].map(([name, i]) => [name, data[i]!]));
  }
  if (reading.ticker !== undefined)
    throw fault(`names its tickers in ${quote(ticker.column.name)}; leave out --ticker`);
  const price = priceColumn(names, (what, advice) => invalid(position, what, advice));
  return new Map([[names[price]!, data[price]!]]);
}

/** The column of a role; in a price blob, the one with the lowest rank. */
function only(
  reading: Reading,
  columns: readonly NamedColumn[],
  role: "date" | "ticker",
  position: Position,
): NamedColumn | undefined {
  const [best, next] = columns
    .filter((each) => each.role.role === role)
    .sort((a, b) => a.role.rank - b.role.rank);
  const isAmbiguous =
    best !== undefined &&
    next !== undefined &&
    (reading.kind === "features" || best.role.rank === next.role.rank);
  if (!isAmbiguous) return best;
  const names = `${quote(best.column.name)} and ${quote(next.column.name)}`;
  throw invalid(position, `the table has two columns of ${role}s, ${names}`);
}

function checkDate({ column }: NamedColumn, position: Position): void {
  const isReadable = isDated(column) || isText(column) || (isNumeric(column) && column.physical !== "FLOAT");
  if (isReadable) return;
  const what = `the column ${quote(column.name)} is of type ${typeName(column)}; dates, timestamps or texts are expected`;
  throw invalid(position, what);
}

function isWhole(column: LeafColumn): boolean {
  return isNumeric(column) && (column.physical === "INT32" || column.physical === "INT64");
}

function checkTicker({ column }: NamedColumn, position: Position): void {
  if (isText(column) || isWhole(column)) return;
  const what = `the column ${quote(column.name)} is of type ${typeName(column)}; texts or integers are expected`;
  throw invalid(position, what);
}
