import { counted } from "../contract/errors/wording.ts";
import { type Day, formatDay } from "../contract/market/dates.ts";
import type { TickerSeries } from "../contract/market/ticker-series.ts";
import { dayOfText, whyNoDate } from "./date-text.ts";
import { Calendar, isDateKey } from "./dates.ts";
import { invalid, kindOf, NOT_A_BLOB, pathOf, quote } from "./faults.ts";
import { keysAt, type Piece } from "./json-scanner.ts";
import { calendarOf, isMembers, type Members, numberOf, type Reading } from "./reading.ts";
import { type RowPlace, RowTable } from "./row-table.ts";
import { SplitTable } from "./split-table.ts";

/** A ticker whose dates are those of the container. */
export interface Undated {
  readonly ticker: string;
  readonly columns: readonly string[];
  /** Rows. */
  readonly n: number;
  /** Shape (k, n). */
  readonly values: Float64Array;
}

const SPLIT_KEYS = ["columns", "index", "data"];

/**
 * Reads the value of a ticker's key, and finds its layout (docs/blobs.md).
 * @throws MucastError invalid_data if it has none, or a fault.
 */
export function readTicker(reading: Reading, ticker: string, piece: Piece): TickerSeries | Undated {
  if (reading.tickers.has(ticker)) throw invalid(reading.position(ticker), "comes twice");
  const { value } = piece;
  if (Array.isArray(value)) return readArray(reading, ticker, value, piece.text);
  if (isMembers(value)) return readObject(reading, ticker, value, piece.text);
  throw unknown(reading, ticker, value);
}

function readArray(reading: Reading, ticker: string, values: readonly unknown[], text: string) {
  const [first] = values;
  if (values.length === 0 && reading.kind === "features") return rowless(reading, ticker);
  if (isMembers(first)) {
    const table = new RowTable(reading);
    const order = ordered(values, text);
    for (const [row, record] of values.entries()) {
      if (!isMembers(record))
        throw invalid(reading.position(ticker, row), `is ${kindOf(record)}; a record is expected`);
      table.add(record, { ticker, day: undefined, order });
    }
    return table.series(ticker);
  }
  if (typeof first !== "number" && first !== null && first !== undefined)
    throw unknown(reading, ticker, first);
  if (reading.kind === "features")
    throw invalid(
      reading.position(ticker),
      "is an array of numbers without the names of its features",
      NOT_A_BLOB,
    );
  return undated(reading, ticker, ["price"], numbers(reading, values, ticker));
}

/** The layout of an object is that of the first key that only one layout has. */
function readObject(reading: Reading, ticker: string, members: Members, text: string) {
  const keys = orderedKeys(members, text, 1);
  const isPrices = reading.kind === "prices";
  for (const key of keys) {
    const value = members[key];
    if (Array.isArray(value)) return readArrays(reading, ticker, members, keys);
    const isPrice = isPrices && (typeof value === "number" || value === null);
    if (isDateKey(key) && (isMembers(value) || isPrice))
      return readByDate(reading, ticker, members, keys, text);
    if (isMembers(value)) return readCells(reading, ticker, members, keys);
    const { role } = reading.roles.of(key);
    const isName = role === "ticker" && value === ticker;
    if ((!isPrices && !isName) || role === "price") throw unknown(reading, ticker, value, key);
  }
  if (keys.length > 0) throw unknown(reading, ticker, members);
  return rowless(reading, ticker);
}

/** Columns as arrays, with dates of their own or those of the container; or a split table. */
function readArrays(reading: Reading, ticker: string, members: Members, keys: readonly string[]) {
  const [headers, , rows] = SPLIT_KEYS.map((key) => members[key]);
  const beginsWith = (list: unknown, is: (first: unknown) => boolean) =>
    Array.isArray(list) && list.length > 0 && is(list[0]);
  const isSplit =
    beginsWith(headers, (first) => typeof first === "string") ||
    beginsWith(rows, Array.isArray) ||
    SPLIT_KEYS.every((key) => Array.isArray(members[key]));
  if (isSplit) return readSplit(reading, ticker, members, keys);
  let dates: { readonly name: string; readonly rank: number } | undefined;
  const columns: string[] = [];
  const values: Float64Array[] = [];
  for (const key of keys) {
    const value = members[key];
    const { role, rank } = reading.roles.of(key);
    if (!Array.isArray(value)) {
      if (role === "ticker" && value === ticker) continue;
      if (reading.kind === "features" || role === "price" || role === "ticker")
        throw invalid(reading.position(ticker, key), `is ${kindOf(value)}; an array is expected`);
    } else if (role === "date") {
      if (dates !== undefined && (reading.kind === "features" || dates.rank === rank)) {
        const what = `has two arrays of dates, ${quote(dates.name)} and ${quote(key)}`;
        throw invalid(reading.position(ticker), what);
      }
      if (dates === undefined || rank < dates.rank) dates = { name: key, rank };
    } else if (role === "ticker") {
      if (value.some((each) => each !== ticker))
        throw invalid(reading.position(ticker, key), "names another ticker");
    } else if (reading.kind === "features" || role === "price") {
      const column = numbers(reading, value, ticker, key);
      const n = values[0]?.length ?? column.length;
      if (column.length !== n) {
        const what = `has ${counted(column.length, "value")}; ${quote(columns[0]!)} has ${n}`;
        throw invalid(reading.position(ticker, key), what);
      }
      columns.push(reading.columnName(key));
      values.push(column);
    }
  }
  const n = values[0]?.length ?? 0;
  const whole = joined(values, n);
  if (dates === undefined) return undated(reading, ticker, columns, whole);
  const calendar = calendarOf(members[dates.name] as unknown[], reading, ticker, dates.name);
  if (columns.length > 0 && calendar.days.length !== n) {
    const what = `has columns of length ${n}; it has ${counted(calendar.days.length, "date")}`;
    throw invalid(reading.position(ticker), what);
  }
  return dated(reading, ticker, columns, calendar, whole);
}

function readSplit(reading: Reading, ticker: string, members: Members, keys: readonly string[]) {
  const table = new SplitTable(reading, ticker);
  for (const key of keys) {
    const value = members[key];
    const { role } = reading.roles.of(key);
    if (Array.isArray(value) && SPLIT_KEYS.includes(key)) table.set(key, value);
    else if (reading.kind === "features" && !(role === "ticker" && value === ticker)) {
      const what = "is next to the columns, index and data of a split table";
      throw invalid(reading.position(ticker, key), what);
    }
  }
  return table.series(ticker);
}

/** Records by date, or prices by date. */
function readByDate(
  reading: Reading,
  ticker: string,
  members: Members,
  keys: readonly string[],
  text: string,
): TickerSeries {
  const table = new RowTable(reading);
  const order = ordered(Object.values(members), text);
  for (const key of keys) {
    const value = members[key];
    const day = dayOfText(key);
    if (!Number.isNaN(day)) table.addDated(value, { ticker, day, order });
    else if (reading.kind === "features" || isMembers(value) || typeof value === "number")
      throw invalid(reading.position(ticker, key), `is among dates, but ${whyNoDate(key)}`);
  }
  return table.series(ticker);
}

/** Columns, each an object of values by date, as pandas writes a frame. */
function readCells(
  reading: Reading,
  ticker: string,
  members: Members,
  keys: readonly string[],
): TickerSeries {
  const columns: string[] = [];
  const cells: Members[] = [];
  for (const key of keys) {
    const value = members[key];
    const { role } = reading.roles.of(key);
    if (role === "ticker" && value === ticker) continue;
    if (reading.kind === "prices" && role !== "price") continue;
    if (!isMembers(value))
      throw invalid(reading.position(ticker, key), `is ${kindOf(value)}; an object by date is expected`);
    columns.push(reading.columnName(key));
    cells.push(value);
  }
  const rows = new Map<Day, number>();
  const days = cells.map((column, j) => {
    const own = Object.keys(column).map((key) => {
      const day = dayOfText(key);
      if (!Number.isNaN(day)) return day;
      const what = `has the key ${quote(key)}, which ${whyNoDate(key)}`;
      throw invalid(reading.position(ticker, columns[j]!), what);
    });
    for (const day of own) if (!rows.has(day)) rows.set(day, rows.size);
    return own;
  });
  const n = rows.size;
  reading.claim(ticker, columns, n);
  const values = new Float64Array(columns.length * n).fill(Number.NaN);
  const filled = new Int32Array(n).fill(-1);
  for (const [j, column] of cells.entries()) {
    for (const [i, value] of Object.values(column).entries()) {
      const day = days[j]![i]!;
      const row = rows.get(day)!;
      const position = () => reading.position(ticker, columns[j]!, formatDay(day));
      if (filled[row] === j) {
        const what = `has the date ${formatDay(day)} twice`;
        throw invalid(reading.position(ticker, columns[j]!), what);
      }
      filled[row] = j;
      values[j * n + row] = numberOf(value, position);
    }
  }
  const calendar = new Calendar([...rows.keys()], reading.position(ticker));
  calendar.arrange(values);
  return { ticker, days: calendar.days, columns, values };
}

/** A ticker without columns and rows. */
function rowless(reading: Reading, ticker: string): TickerSeries {
  reading.claim(ticker, ["price"], 0);
  return { ticker, columns: [], days: new Int32Array(0), values: new Float64Array(0) };
}

function undated(
  reading: Reading,
  ticker: string,
  columns: readonly string[],
  values: Float64Array,
): Undated {
  const n = columns.length === 0 ? 0 : values.length / columns.length;
  reading.claim(ticker, columns, n);
  return { ticker, columns, n, values };
}

function dated(
  reading: Reading,
  ticker: string,
  columns: readonly string[],
  calendar: Calendar,
  values: Float64Array,
): TickerSeries {
  reading.claim(ticker, columns, calendar.days.length);
  calendar.arrange(values);
  return { ticker, days: calendar.days, columns, values };
}

function numbers(
  reading: Reading,
  values: readonly unknown[],
  ticker: string,
  ...keys: string[]
): Float64Array {
  const found = new Float64Array(values.length);
  for (let i = 0; i < found.length; i++) {
    const value = values[i];
    found[i] =
      typeof value === "number" && value - value === 0
        ? value
        : numberOf(value, () => reading.position(ticker, ...keys, i));
  }
  return found;
}

function joined(columns: readonly Float64Array[], n: number): Float64Array {
  const values = new Float64Array(columns.length * n);
  for (const [j, column] of columns.entries()) values.set(column, j * n);
  return values;
}

/** A key that JSON.parse moves before all others. */
const MOVED = /^(?:0|[1-9]\d{0,9})$/;

/** The keys of an object in the order of its text. */
function orderedKeys(members: Members, text: string, depth: number): readonly string[] {
  const keys = Object.keys(members);
  return keys.length > 0 && MOVED.test(keys[0]!) ? keysAt(text, depth) : keys;
}

/** The order of the keys of records in a piece; undefined if it is that of JSON.parse. */
export function ordered(records: readonly unknown[], text: string): RowPlace["order"] {
  const isMoved = records.some((record) => {
    if (!isMembers(record)) return false;
    for (const key in record) return MOVED.test(key);
    return false;
  });
  return isMoved ? new Map(keysAt(text, 2).map((key, i) => [key, i])) : undefined;
}

function unknown(reading: Reading, ticker: string, value: unknown, ...keys: string[]) {
  return invalid(
    { ...reading.position(ticker), path: pathOf(ticker, ...keys) },
    `is ${kindOf(value)}, which is not a known layout of a ticker`,
    NOT_A_BLOB,
  );
}
