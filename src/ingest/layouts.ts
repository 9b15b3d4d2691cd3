import { counted } from "../contract/errors/wording.ts";
import { type Day, formatDay } from "../contract/market/dates.ts";
import type { TickerSeries } from "../contract/market/ticker-series.ts";
import { dayOfText, isDateKey, whyNoDate } from "./date-text.ts";
import { Calendar } from "./dates.ts";
import { invalid, kindOf, NOT_A_BLOB, type Position, quote } from "./faults.ts";
import { type Member, nameOf } from "./json-scanner.ts";
import { isMembers, numberOf, type Reading } from "./reading.ts";
import { RowTable } from "./row-table.ts";

/** A ticker whose dates are those of the container. */
export interface Undated {
  readonly ticker: string;
  readonly columns: readonly string[];
  /** Rows. */
  readonly n: number;
  /** Shape (k, n). */
  readonly values: Float64Array;
}

/** A column, or what stands among columns. */
type Entry = Pick<Member, "key" | "value">;

/**
 * Reads the value of a ticker's key, in the layout of docs/blobs.md that it has.
 * @param members those of an object. @param value anything else.
 * @throws MucastError invalid_data if it has none, or a fault.
 */
export function readTicker(
  reading: Reading,
  ticker: string,
  members: readonly Member[] | undefined,
  value?: unknown,
): TickerSeries | Undated {
  if (reading.tickers.has(ticker)) throw invalid(reading.position(ticker), "comes twice");
  if (members === undefined) return readList(reading, ticker, value);
  if (members.length === 0) return withoutRows(reading, ticker);
  const isPrices = reading.kind === "prices";
  // The first member by which the layout can be told.
  const telling = members.find(
    (each) => each.begins !== "other" || (isPrices && isDateKey(each.key) && isPrice(each.value)),
  );
  if (telling === undefined) throw unknown(reading.position(ticker, members[0]!.key), members[0]!.value);
  if (telling.begins === "array")
    return isSplit(members) ? readSplit(reading, ticker, members) : readArrays(reading, ticker, members);
  return isDateKey(telling.key)
    ? readByDate(reading, ticker, members)
    : readByColumn(reading, ticker, members);
}

function unknown(position: Position, value: unknown) {
  return invalid(position, `is ${kindOf(value)}, which is not a known layout of a ticker`, NOT_A_BLOB);
}

function withoutRows(reading: Reading, ticker: string): TickerSeries {
  reading.claim(ticker, ["price"], 0);
  return { ticker, columns: [], days: new Int32Array(0), values: new Float64Array(0) };
}

/** Records, or prices on the dates of the container. */
function readList(reading: Reading, ticker: string, value: unknown): TickerSeries | Undated {
  if (!Array.isArray(value)) throw unknown(reading.position(ticker), value);
  const isFeatures = reading.kind === "features";
  if (value.length === 0 && isFeatures) return withoutRows(reading, ticker);
  if (isMembers(value[0])) {
    const table = new RowTable(reading, false);
    for (const [row, record] of value.entries()) {
      if (!isMembers(record))
        throw invalid(reading.position(ticker, row), `is ${kindOf(record)}; a record is expected`);
      table.addRecord(record, ticker);
    }
    return table.finish().next().value!;
  }
  if (value.length > 0 && !isPrice(value[0])) throw unknown(reading.position(ticker), value[0]);
  const what = "is an array of numbers without the names of its features";
  if (isFeatures) throw invalid(reading.position(ticker), what, NOT_A_BLOB);
  const values = new Float64Array(value.length);
  copyNumbers(value, values, (i) => reading.position(ticker, i));
  reading.claim(ticker, ["price"], values.length);
  return { ticker, columns: ["price"], n: values.length, values };
}

function isPrice(value: unknown): boolean {
  return value === null || typeof value === "number";
}

/** The parts of a pandas `orient="split"` table: names of columns, dates, rows. */
export type SplitParts = Partial<Record<"columns" | "index" | "data", readonly unknown[]>>;

function partsOf(members: readonly Member[]): SplitParts {
  const parts = members.filter(({ key, begins }) => /^(columns|index|data)$/.test(key) && begins === "array");
  return Object.fromEntries(parts.map(({ key, value }) => [key, value]));
}

/** Whether an object with an array is such a table. A ticker's columns may be called `index` or `data` too. */
function isSplit(members: readonly Member[]): boolean {
  const { columns, index, data } = partsOf(members);
  return (
    typeof columns?.[0] === "string" ||
    Array.isArray(data?.[0]) ||
    [columns, index, data].every(Array.isArray)
  );
}

function readSplit(reading: Reading, ticker: string, members: readonly Member[]) {
  const parts = partsOf(members);
  for (const { key, value } of members) {
    if (Object.hasOwn(parts, key) || reading.kind === "prices" || isName(reading, ticker, key, value))
      continue;
    const what = "is next to the columns, index and data of a split table";
    throw invalid(reading.position(ticker, key), what);
  }
  const columns = splitColumns(reading, parts, (...keys) => reading.position(ticker, ...keys));
  return readArrays(reading, ticker, columns, parts.index);
}

/** The columns of a split table, by name. @throws MucastError invalid_data if parts are missing or do not match. */
function splitColumns(
  { roles }: Reading,
  { columns: headers, index, data }: SplitParts,
  at: (part: string, ...index: number[]) => Position,
): readonly { readonly key: string; readonly value: readonly unknown[] }[] {
  if (headers === undefined || data === undefined)
    throw invalid(at(headers === undefined ? "columns" : "data"), "is missing from a split table");
  for (const [j, name] of headers.entries()) {
    const what = typeof name === "string" ? `is ${quote(name)}, which comes twice` : `is ${kindOf(name)}`;
    if (typeof name !== "string" || headers.indexOf(name) < j) throw invalid(at("columns", j), what);
  }
  const names = headers as readonly string[];
  if (index === undefined && !names.some((name) => roles.of(name).role === "date"))
    throw invalid(at("index"), "is missing from a split table");
  for (const [i, row] of data.entries()) {
    if (!Array.isArray(row))
      throw invalid(at("data", i), `is ${kindOf(row)}; an array of values is expected`);
    const what = `has ${counted(row.length, "value")}; there ${names.length === 1 ? "is" : "are"} ${counted(names.length, "column")}`;
    if (row.length !== names.length) throw invalid(at("data", i), what);
  }
  return names.map((key, j) => ({ key, value: (data as unknown[][]).map((row) => row[j]) }));
}

/** The tickers of a split table of prices with a column per ticker. */
export function* readWideSplit(reading: Reading, parts: SplitParts): Generator<TickerSeries, void, void> {
  const fault = (what: string) => invalid(reading.position(), `the blob ${what}`);
  if (reading.kind === "features")
    throw fault("is one split table, which does not tell tickers from features; write one a ticker");
  const at = (part: string, ...index: number[]) => reading.place(part, ...index);
  const columns = splitColumns(reading, parts, at);
  const names = columns.map(({ key }) => key);
  const dates = reading.roles.best(names, "date", fault);
  if (reading.roles.best(names, "ticker", fault) !== undefined)
    throw fault("is a split table with a column of tickers; write it as records, or as one table a ticker");
  const cells = columns.find(({ key }) => key === dates)?.value ?? parts.index!;
  const calendar = Calendar.of(cells, (...index) => at(dates ?? "index", ...index));
  for (const [j, { key: ticker, value: prices }] of columns.entries()) {
    if (reading.roles.of(ticker).role === "date") continue;
    const [rows, days] = [counted(prices.length, "row"), counted(calendar.days.length, "date")];
    if (prices.length !== calendar.days.length)
      throw fault(`is a split table with ${rows} of data beside ${days}`);
    const values = Float64Array.from(prices, (cell, i) => numberOf(cell, () => at("data", i, j)));
    yield reading.complete(ticker, ["price"], calendar, values);
  }
}

/** Whether an entry only names the ticker again. */
function isName(reading: Reading, ticker: string, key: string, value: unknown): boolean {
  return reading.roles.of(key).role === "ticker" && value === ticker;
}

/** Columns as arrays, with dates of their own, or else those of `index`, or else those of the container. */
function readArrays(
  reading: Reading,
  ticker: string,
  entries: readonly Entry[],
  index?: readonly unknown[],
): TickerSeries | Undated {
  const { roles } = reading;
  const dateCells = new Map<string, readonly unknown[]>();
  const columns: string[] = [];
  const k = entries.filter(({ key }) => roles.of(key).isValue).length;
  let n = 0;
  let values = new Float64Array(0);
  for (const { key, value: cells } of entries) {
    const { role, isValue } = roles.of(key);
    if (role === "ticker" && cells === ticker) continue;
    if (!Array.isArray(cells)) {
      if (reading.kind === "prices" && role !== "price" && role !== "ticker") continue;
      throw invalid(reading.position(ticker, key), `is ${kindOf(cells)}; an array is expected`);
    }
    if (role === "date") dateCells.set(key, cells);
    const other = role === "ticker" ? cells.find((cell) => cell !== ticker) : undefined;
    if (other !== undefined)
      throw invalid(reading.position(ticker), `has a row of ${quote(String(other))} in ${quote(key)}`);
    if (!isValue) continue;
    if (columns.length === 0) {
      n = cells.length;
      reading.checkSize(ticker, k, n);
      values = new Float64Array(k * n);
    }
    if (cells.length !== n) {
      const what = `has ${counted(cells.length, "value")}; ${quote(columns[0]!)} has ${n}`;
      throw invalid(reading.position(ticker, key), what);
    }
    const column = values.subarray(columns.length * n, (columns.length + 1) * n);
    copyNumbers(cells, column, (i) => reading.position(ticker, key, i));
    columns.push(reading.columnName(key));
  }
  const dates = roles.best([...dateCells.keys()], "date", (what) => invalid(reading.position(ticker), what));
  const cellsOfDates = dates === undefined ? index : dateCells.get(dates);
  if (cellsOfDates === undefined) {
    reading.claim(ticker, columns, n);
    return { ticker, columns, n, values };
  }
  const calendar = Calendar.of(cellsOfDates, (...at) => reading.position(ticker, dates ?? "index", ...at));
  if (columns.length > 0 && calendar.days.length !== n) {
    const what = `has columns of length ${n}; it has ${counted(calendar.days.length, "date")}`;
    throw invalid(reading.position(ticker), what);
  }
  return reading.complete(ticker, columns, calendar, values);
}

/** Records by date, or prices by date. */
function readByDate(reading: Reading, ticker: string, members: readonly Member[]): TickerSeries {
  const table = new RowTable(reading, false);
  for (const { key, value } of members) {
    const day = dayOfText(key);
    if (!Number.isNaN(day)) table.addDated(value, ticker, day);
    else if (reading.kind === "features" || isMembers(value) || typeof value === "number")
      throw invalid(reading.position(ticker, key), `is among dates, but ${whyNoDate(key)}`);
  }
  return table.finish().next().value!;
}

/** Columns, each an object of values by date, as pandas writes a frame. */
function readByColumn(reading: Reading, ticker: string, members: readonly Member[]): TickerSeries {
  const columns: string[] = [];
  /** Of each column, the numbers that it has and their rows. */
  const parts: (readonly [Float64Array, readonly number[]])[] = [];
  const rows = new Map<Day, number>();
  /** The dates of a column, and their rows. Columns nearly always have the same dates. */
  let [keys, places]: [readonly string[], readonly number[]] = [[], []];
  for (const { key: name, value: cells } of members) {
    if (isName(reading, ticker, name, cells)) continue;
    if (reading.kind === "prices" && !reading.roles.of(name).isValue) continue;
    if (!isMembers(cells))
      throw invalid(reading.position(ticker, name), `is ${kindOf(cells)}; an object by date is expected`);
    const dates = Object.keys(cells);
    if (dates.length !== keys.length || dates.some((key, i) => key !== keys[i])) {
      keys = dates;
      places = rowsOf(dates, rows, reading.position(ticker, name));
    }
    const column = new Float64Array(keys.length);
    // Looking up each key takes a third of the time of Object.values.
    for (const [i, key] of keys.entries())
      column[i] = numberOf(cells[key], () =>
        reading.position(ticker, name, formatDay(dayOfText(nameOf(key)))),
      );
    columns.push(reading.columnName(name));
    parts.push([column, places]);
  }
  const n = rows.size;
  reading.claim(ticker, columns, n);
  const values = new Float64Array(columns.length * n).fill(Number.NaN);
  for (const [j, [column, places]] of parts.entries())
    for (const [i, row] of places.entries()) values[j * n + row] = column[i]!;
  const calendar = new Calendar(Int32Array.from(rows.keys()), reading.position(ticker));
  calendar.arrange(values);
  return { ticker, days: calendar.days, columns, values };
}

/** The row of each date of a column. @param rows gets those that are new. */
function rowsOf(dates: readonly string[], rows: Map<Day, number>, position: Position): number[] {
  const found = new Set<number>();
  for (const key of dates) {
    const day = dayOfText(nameOf(key));
    if (Number.isNaN(day))
      throw invalid(position, `has the key ${quote(nameOf(key))}, which ${whyNoDate(nameOf(key))}`);
    const row = rows.get(day) ?? rows.size;
    if (found.has(row)) throw invalid(position, `has the date ${formatDay(day)} twice`);
    rows.set(day, row);
    found.add(row);
  }
  return [...found];
}

function copyNumbers(cells: readonly unknown[], into: Float64Array, position: (i: number) => Position): void {
  for (let i = 0; i < into.length; i++) {
    const cell = cells[i];
    into[i] = typeof cell === "number" && cell - cell === 0 ? cell : numberOf(cell, () => position(i));
  }
}
