import { counted } from "../contract/errors/wording.ts";
import { type Day, formatDay } from "../contract/market/dates.ts";
import type { TickerSeries } from "../contract/market/ticker-series.ts";
import { dayOfText, isDateKey, whyNoDate } from "./date-text.ts";
import { Calendar } from "./dates.ts";
import { invalid, kindOf, NOT_A_BLOB, type Position, quote } from "./faults.ts";
import { nameOf } from "./json-scanner.ts";
import { isMembers, type Members, numberOf, type Reading } from "./reading.ts";
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

/** The value of a ticker's key. */
interface TickerValue {
  readonly value: unknown;
  /** Of an object, in the order of the text. */
  readonly entries: readonly Entry[];
  /** The first entry of an object by which it can be told: its value is an array or an object, or a price by date. */
  readonly telling: Entry | undefined;
}

type Entry = readonly [key: string, value: unknown];

/** A layout of what belongs to one ticker, as docs/blobs.md shows it. */
interface Layout {
  matches(found: TickerValue, reading: Reading): boolean;
  columns(reading: Reading, ticker: string, found: TickerValue): TickerSeries | Undated;
}

/** The first that matches counts. */
const LAYOUTS: Readonly<Record<string, Layout>> = {
  "no rows": {
    matches: ({ value, entries }, { kind }) =>
      Array.isArray(value)
        ? kind === "features" && value.length === 0
        : entries.length === 0 && isMembers(value),
    columns(reading, ticker) {
      reading.claim(ticker, ["price"], 0);
      return { ticker, columns: [], days: new Int32Array(0), values: new Float64Array(0) };
    },
  },
  records: {
    matches: ({ value }) => Array.isArray(value) && isMembers(value[0]),
    columns(reading, ticker, { value }) {
      const table = new RowTable(reading, false);
      for (const [row, record] of (value as unknown[]).entries()) {
        if (!isMembers(record))
          throw invalid(reading.position(ticker, row), `is ${kindOf(record)}; a record is expected`);
        table.addRecord(record, ticker);
      }
      return table.finish().next().value!;
    },
  },
  prices: {
    matches: ({ value }) =>
      Array.isArray(value) && (value.length === 0 || value[0] === null || typeof value[0] === "number"),
    columns(reading, ticker, { value }) {
      const what = "is an array of numbers without the names of its features";
      if (reading.kind === "features") throw invalid(reading.position(ticker), what, NOT_A_BLOB);
      const prices = value as unknown[];
      const values = new Float64Array(prices.length);
      copyNumbers(prices, values, (i) => reading.position(ticker, i));
      reading.claim(ticker, ["price"], values.length);
      return { ticker, columns: ["price"], n: values.length, values };
    },
  },
  "split table": {
    matches: ({ value, telling }) => Array.isArray(telling?.[1]) && isSplit(value as Members),
    columns: readSplit,
  },
  "arrays by column": {
    matches: ({ telling }) => Array.isArray(telling?.[1]),
    columns: (reading, ticker, { entries }) => readArrays(reading, ticker, entries),
  },
  "by date": {
    matches: ({ telling }) => telling !== undefined && isDateKey(telling[0]),
    columns: readByDate,
  },
  "by column": {
    matches: ({ telling }) => telling !== undefined,
    columns: readByColumn,
  },
};

/**
 * Reads the value of a ticker's key, in the layout that it has.
 * @throws MucastError invalid_data if it has none, or a fault.
 */
export function readTicker(reading: Reading, ticker: string, value: unknown): TickerSeries | Undated {
  if (reading.tickers.has(ticker)) throw invalid(reading.position(ticker), "comes twice");
  const entries = isMembers(value) ? entriesOf(value) : [];
  const isPrice = (cell: unknown) => reading.kind === "prices" && (cell === null || typeof cell === "number");
  const telling = entries.find(
    ([key, cell]) => Array.isArray(cell) || isMembers(cell) || (isPrice(cell) && isDateKey(key)),
  );
  const found = { value, entries, telling };
  const layout = Object.values(LAYOUTS).find((each) => each.matches(found, reading));
  if (layout !== undefined) return layout.columns(reading, ticker, found);
  const [key, cell] = entries[0] ?? [undefined, Array.isArray(value) ? value[0] : value];
  const position = reading.position(ticker, ...(key === undefined ? [] : [key]));
  throw invalid(position, `is ${kindOf(cell)}, which is not a known layout of a ticker`, NOT_A_BLOB);
}

/** The members of an object of `inOrder`, by their names. */
export function entriesOf(members: Members): readonly Entry[] {
  return Object.entries(members).map(([key, value]) => [nameOf(key), value]);
}

/** The parts of a pandas `orient="split"` table: names of columns, dates, rows. */
export type SplitParts = Partial<Record<"columns" | "index" | "data", readonly unknown[]>>;

/** Whether an object with an array is such a table. A ticker's columns may be called `index` or `data` too. */
function isSplit({ columns, index, data }: Members): boolean {
  const [header, row] = [columns, data].map((part) => (Array.isArray(part) ? part[0] : undefined));
  return typeof header === "string" || Array.isArray(row) || [columns, index, data].every(Array.isArray);
}

function readSplit(reading: Reading, ticker: string, { entries }: TickerValue) {
  const parts: { [part in keyof SplitParts]: unknown[] } = {};
  for (const [key, part] of entries) {
    const isPart = key === "columns" || key === "index" || key === "data";
    if (isPart && Array.isArray(part)) parts[key] = part;
    else if (reading.kind === "features" && !isName(reading, ticker, key, part)) {
      const what = "is next to the columns, index and data of a split table";
      throw invalid(reading.position(ticker, key), what);
    }
  }
  const columns = splitColumns(reading, parts, (...keys) => reading.position(ticker, ...keys));
  return readArrays(reading, ticker, columns, parts.index);
}

/** The columns of a split table, by name. @throws MucastError invalid_data if parts are missing or do not match. */
function splitColumns(
  { roles }: Reading,
  { columns: headers, index, data }: SplitParts,
  at: (part: string, ...index: number[]) => Position,
): readonly (readonly [name: string, cells: readonly unknown[]])[] {
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
  return names.map((name, j) => [name, (data as unknown[][]).map((row) => row[j])]);
}

/** The tickers of a split table of prices with a column per ticker. */
export function* readWideSplit(reading: Reading, parts: SplitParts): Generator<TickerSeries, void, void> {
  const fault = (what: string) => invalid(reading.position(), `the blob ${what}`);
  if (reading.kind === "features")
    throw fault("is one split table, which does not tell tickers from features; write one a ticker");
  const at = (part: string, ...index: number[]) => reading.place(part, ...index);
  const columns = splitColumns(reading, parts, at);
  const names = columns.map(([name]) => name);
  const dates = reading.roles.best(names, "date", fault);
  if (reading.roles.best(names, "ticker", fault) !== undefined)
    throw fault("is a split table with a column of tickers; write it as records, or as one table a ticker");
  const cells = columns.find(([name]) => name === dates)?.[1] ?? parts.index!;
  const calendar = Calendar.of(cells, (...index) => at(dates ?? "index", ...index));
  for (const [j, [ticker, prices]] of columns.entries()) {
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
function readArrays(reading: Reading, ticker: string, entries: readonly Entry[], index?: readonly unknown[]) {
  const { roles } = reading;
  const dateNames: string[] = [];
  const columns: string[] = [];
  const arrays: (readonly unknown[])[] = [];
  for (const [key, cells] of entries) {
    const { role, isValue } = roles.of(key);
    if (role === "ticker" && cells === ticker) continue;
    if (!Array.isArray(cells)) {
      if (reading.kind === "prices" && role !== "price" && role !== "ticker") continue;
      throw invalid(reading.position(ticker, key), `is ${kindOf(cells)}; an array is expected`);
    }
    if (role === "date") dateNames.push(key);
    const other = role === "ticker" ? cells.find((cell) => cell !== ticker) : undefined;
    if (other !== undefined)
      throw invalid(reading.position(ticker), `has a row of ${quote(String(other))} in ${quote(key)}`);
    if (!isValue) continue;
    const n = arrays[0]?.length ?? cells.length;
    if (cells.length !== n) {
      const what = `has ${counted(cells.length, "value")}; ${quote(columns[0]!)} has ${n}`;
      throw invalid(reading.position(ticker, key), what);
    }
    arrays.push(cells);
    columns.push(reading.columnName(key));
  }
  const n = arrays[0]?.length ?? 0;
  const values = new Float64Array(columns.length * n);
  for (const [j, cells] of arrays.entries()) {
    const column = values.subarray(j * n, (j + 1) * n);
    copyNumbers(cells, column, (i) => reading.position(ticker, columns[j]!, i));
  }
  const dates = roles.best(dateNames, "date", (what) => invalid(reading.position(ticker), what));
  const cellsOfDates = entries.find(([key]) => key === dates)?.[1] ?? index;
  if (cellsOfDates === undefined) {
    reading.claim(ticker, columns, n);
    return { ticker, columns, n, values };
  }
  const calendar = Calendar.of(cellsOfDates as readonly unknown[], (...at) =>
    reading.position(ticker, dates ?? "index", ...at),
  );
  if (columns.length > 0 && calendar.days.length !== n) {
    const what = `has columns of length ${n}; it has ${counted(calendar.days.length, "date")}`;
    throw invalid(reading.position(ticker), what);
  }
  return reading.complete(ticker, columns, calendar, values);
}

/** Records by date, or prices by date. */
function readByDate(reading: Reading, ticker: string, { entries }: TickerValue): TickerSeries {
  const table = new RowTable(reading, false);
  for (const [key, value] of entries) {
    const day = dayOfText(key);
    if (!Number.isNaN(day)) table.addDated(value, ticker, day);
    else if (reading.kind === "features" || isMembers(value) || typeof value === "number")
      throw invalid(reading.position(ticker, key), `is among dates, but ${whyNoDate(key)}`);
  }
  return table.finish().next().value!;
}

/** Columns, each an object of values by date, as pandas writes a frame. */
function readByColumn(reading: Reading, ticker: string, { entries }: TickerValue): TickerSeries {
  const wanted = entries.filter(([key, value]) => {
    if (isName(reading, ticker, key, value)) return false;
    if (reading.kind === "prices" && !reading.roles.of(key).isValue) return false;
    if (isMembers(value)) return true;
    throw invalid(reading.position(ticker, key), `is ${kindOf(value)}; an object by date is expected`);
  }) as [string, Members][];
  const columns = wanted.map(([name]) => reading.columnName(name));
  const rows = new Map<Day, number>();
  const keysByColumn = wanted.map(([, cells]) => Object.keys(cells));
  let [keys, places]: [readonly string[], readonly number[]] = [[], []];
  /** Of each column, the rows of its cells. Columns nearly always have the same dates. */
  const placesByColumn = wanted.map(([name], j) => {
    const own = keysByColumn[j]!;
    if (own.length === keys.length && own.every((key, i) => key === keys[i])) return places;
    keys = own;
    places = own.map((key) => {
      const day = dayOfText(nameOf(key));
      if (Number.isNaN(day)) {
        const what = `has the key ${quote(nameOf(key))}, which ${whyNoDate(nameOf(key))}`;
        throw invalid(reading.position(ticker, name), what);
      }
      if (!rows.has(day)) rows.set(day, rows.size);
      return rows.get(day)!;
    });
    if (new Set(places).size === places.length) return places;
    const twice = [...rows.keys()][places.find((row, i) => places.indexOf(row) < i)!]!;
    throw invalid(reading.position(ticker, name), `has the date ${formatDay(twice)} twice`);
  });
  const n = rows.size;
  reading.claim(ticker, columns, n);
  const values = new Float64Array(columns.length * n).fill(Number.NaN);
  const days = Int32Array.from(rows.keys());
  for (const [j, [name, cells]] of wanted.entries()) {
    const places = placesByColumn[j]!;
    // Looking up each key takes a third of the time of Object.values.
    for (const [i, key] of keysByColumn[j]!.entries())
      values[j * n + places[i]!] = numberOf(cells[key], () =>
        reading.position(ticker, name, formatDay(days[places[i]!]!)),
      );
  }
  const calendar = new Calendar(days, reading.position(ticker));
  calendar.arrange(values);
  return { ticker, days: calendar.days, columns, values };
}

function copyNumbers(cells: readonly unknown[], into: Float64Array, position: (i: number) => Position): void {
  for (let i = 0; i < into.length; i++) {
    const cell = cells[i];
    into[i] = typeof cell === "number" && cell - cell === 0 ? cell : numberOf(cell, () => position(i));
  }
}
