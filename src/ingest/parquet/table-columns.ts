import { MAX_COLUMNS } from "../../contract/market/ticker-series.ts";
import { invalid, type Position, quote, tooLarge } from "../blob-errors.ts";
import { type ColumnRole, priceColumn } from "../column-names.ts";
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
 *
 * @throws MucastError invalid_data if a column is missing, ambiguous or of a type that it may not have; too_large over MAX_COLUMNS.
 */
export function tableColumns(reading: Reading, footer: Footer): TableColumns {
  const position = positionOf(reading, 0);
  const named = namedColumns(reading, footer);
  const others = named.filter(({ role }) => role.role === "price" || role.role === "value");
  const date =
    only(reading, named, "date", position) ??
    others.find(({ column, isIndex }) => isIndex && isDated(column));
  const ticker =
    only(reading, named, "ticker", position) ??
    others.find(({ column, isIndex }) => isIndex && isText(column));
  if (date === undefined) {
    throw invalid(position, "the table has no column of dates; date or timestamp is expected");
  }
  checkDate(date, position);
  if (ticker !== undefined) checkTicker(ticker, position);
  const data = others.filter((each) => each !== date && each !== ticker && !each.isIndex);
  const values =
    ticker === undefined ? wideColumns(reading, data, position) : longColumns(reading, data, position);
  for (const { column } of values) {
    if (isNumeric(column)) continue;
    const what = `the column ${quote(column.name)} is of type ${typeName(column)}; float, double, int32 or int64 is expected`;
    throw invalid(position, what);
  }
  if (values.length > MAX_COLUMNS) throw tooLarge(position, `the table has more than ${MAX_COLUMNS} columns`);
  return { date: date.index, ticker: ticker?.index, values: values.map(({ index }) => index) };
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

function longColumns(
  reading: Reading,
  data: readonly NamedColumn[],
  position: Position,
): readonly NamedColumn[] {
  if (reading.kind === "features") return data;
  const names = data.map(({ column }) => column.name);
  return [data[priceColumn(reading.roles, names, position)]!];
}

function wideColumns(
  reading: Reading,
  data: readonly NamedColumn[],
  position: Position,
): readonly NamedColumn[] {
  if (reading.kind === "features") {
    throw invalid(position, "the table has no column of tickers; ticker or symbol is expected");
  }
  const price = data.find(({ role }) => role.role === "price");
  if (price === undefined) return data;
  throw invalid(position, `the table has the column ${quote(price.column.name)}, but no column of tickers`);
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

function checkTicker({ column }: NamedColumn, position: Position): void {
  const isWhole = isNumeric(column) && (column.physical === "INT32" || column.physical === "INT64");
  if (isText(column) || isWhole) return;
  const what = `the column ${quote(column.name)} is of type ${typeName(column)}; texts or integers are expected`;
  throw invalid(position, what);
}
