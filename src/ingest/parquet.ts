import { closeSync, openSync, unlinkSync, writeSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import type { DuckDBVector } from "@duckdb/node-api";
import { workFolderError } from "../contract/errors/system-error.ts";
import { MILLISECONDS_PER_DAY } from "../contract/market/dates.ts";
import {
  compareCodePoints,
  MAX_COLUMNS,
  type RequestedWindow,
  type TickerSeries,
} from "../contract/market/ticker-series.ts";
import { Tables } from "../tables/duckdb.ts";
import { dayOfEpoch, dayOfText, NO_MIDNIGHT, whyNoDate, type ZoneCalendar } from "./date-text.ts";
import { boundOf, Calendar, WindowBounds } from "./dates.ts";
import { invalid, type Position, quote, tooLarge, unreadable } from "./faults.ts";
import { plainName, priceColumn, priceColumns, TICKER_NAMES } from "./field-names.ts";
import { frameAttributes, indexColumns, PANDAS_KEYS, timeZones } from "./pandas-index.ts";
import type { Reading } from "./reading.ts";

/** The first bytes of a Parquet file. */
export const MAGIC = "PAR1";

/** Values of a table, rows times the columns that are read: 16 GiB in the work folder. Runs let a few bytes represent many values. */
const MAX_TABLE_VALUES = 2 ** 31;
/** Bytes of an entry of the metadata that is read. */
const MAX_ENTRY_BYTES = 2 ** 23;

/** What sorting may hold in memory before it goes to the work folder, in MiB: 10,000 columns need 768. */
const MEMORY = 1_024;

export interface ParquetOptions {
  /** An existing private folder. No file remains in it. */
  readonly workFolder: string;
  /** Maximum number of values, columns times rows; MAX_TABLE_VALUES by default. */
  readonly maxValues?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  /** The zone that the caller names for times of day. */
  readonly zone?: ZoneCalendar | undefined;
}

/**
 * Reads a blob that is a Parquet table. Its metadata is at its end, so its bytes go to a nameless file first. Yields the tickers in code
 * point order, or those of a wide table in the order of their columns.
 *
 * @returns the window, if the metadata has one.
 * @throws MucastError unreadable_blob for a damaged file or a part of the format that DuckDB does not read; invalid_data, too_large,
 * output_failed.
 */
export async function* readParquet(
  bytes: AsyncIterable<Uint8Array>,
  reading: Reading,
  options: ParquetOptions,
): AsyncGenerator<TickerSeries, RequestedWindow, void> {
  const folder = await mkdtemp(join(options.workFolder, "table-"));
  let file: number | undefined;
  let table: Table | undefined;
  try {
    const path = join(folder, "blob");
    file = openSync(path, "wx+", 0o600);
    unlinkSync(path);
    await copy(bytes, file);
    const opened = `/proc/self/fd/${file}`;
    table = new Table(await Tables.open([opened], folder, MEMORY), opened, reading.source, options.signal);
    const { window, rows } = await table.facts(reading);
    const columns = tableColumns(reading, table.columns, table.index);
    if (rows * Math.max(1, columns.values.size) > (options.maxValues ?? MAX_TABLE_VALUES)) {
      const most = options.maxValues ?? MAX_TABLE_VALUES;
      throw tooLarge(reading.position(), `the table has more than ${most} values, columns times rows`);
    }
    const days = new Days(columns.date, { named: options.zone, own: table.zones.get(columns.date.name) });
    if (columns.ticker === undefined) yield* readWide(table, reading, columns, rows, days);
    else yield* readLong(table, reading, columns, columns.ticker, days);
    return window;
  } finally {
    table?.close();
    if (file !== undefined) closeSync(file);
    await rm(folder, { recursive: true, force: true });
  }
}

async function copy(bytes: AsyncIterable<Uint8Array>, file: number): Promise<void> {
  for await (const chunk of bytes) {
    try {
      for (let done = 0; done < chunk.length; ) done += writeSync(file, chunk, done);
    } catch (error) {
      throw workFolderError("written", error);
    }
  }
}

type ColumnKind = "number" | "day" | "local time" | "instant" | "text" | "other";

interface Column {
  readonly name: string;
  /** As DuckDB names it, in lower case. */
  readonly type: string;
  readonly kind: ColumnKind;
  /** Its name in queries: a Parquet file may have equal names. */
  readonly alias: string;
  readonly isInteger: boolean;
}

const INTEGERS = /^u?(tinyint|smallint|integer|bigint|hugeint)$/;

function kindOfType(type: string): ColumnKind {
  if (INTEGERS.test(type) || /^(float|double|decimal\(.*\))$/.test(type)) return "number";
  if (type === "date") return "day";
  if (type === "timestamp with time zone") return "instant";
  if (/^timestamp(_\w+)?$/.test(type)) return "local time";
  return /^(varchar|enum\(.*\))$/.test(type) ? "text" : "other";
}

/** A Parquet file, opened by a DuckDB that can read nothing else. */
class Table {
  columns: readonly Column[] = [];
  /** Names of the columns that are an index of pandas. */
  index: ReadonlySet<string> = new Set();
  /** Of the columns that pandas lists with one. */
  zones: ReadonlyMap<string, ZoneCalendar> = new Map();
  readonly #tables: Tables;
  readonly #source: string;
  readonly #path: string;
  readonly #signal: AbortSignal | undefined;

  constructor(tables: Tables, path: string, source: string, signal: AbortSignal | undefined) {
    this.#tables = tables;
    this.#path = path;
    this.#source = source;
    this.#signal = signal;
  }

  close(): void {
    this.#tables.close();
  }

  /** Reads what the metadata says. */
  async facts(reading: Reading): Promise<{ readonly window: RequestedWindow; readonly rows: number }> {
    const [file] = await this.#rows(`SELECT num_rows FROM parquet_file_metadata('${this.#path}')`);
    const schema = await this.#rows(
      `SELECT name, num_children, precision FROM parquet_schema('${this.#path}')`,
    );
    const elements = topLevel(schema as unknown as SchemaElement[]);
    const names = elements.map(([name]) => name);
    if (names.includes(ROW_NUMBER))
      throw invalid(reading.position(), `the table has a column ${quote(ROW_NUMBER)}; rename it`);
    const described = await this.#rows(
      `DESCRIBE SELECT * FROM read_parquet('${this.#path}', binary_as_string = true)`,
    );
    this.columns = described.map(([, type], i) => {
      const lower = String(type).toLowerCase();
      const isInteger = INTEGERS.test(lower);
      // DuckDB takes decimals of more digits for doubles, and their bytes for others.
      const isLong = Number(elements[i]![2] ?? 0) > MAX_DECIMAL_DIGITS;
      const kind = isLong ? "other" : kindOfType(lower);
      return {
        name: names[i]!,
        type: isLong ? `decimal of more than ${MAX_DECIMAL_DIGITS} digits` : lower,
        kind,
        alias: `c${i}`,
        isInteger,
      };
    });
    const metadata = new Map<string, string>();
    const isSmall = `octet_length(value) <= ${MAX_ENTRY_BYTES}`;
    const entries = `SELECT decode(key), CASE WHEN ${isSmall} THEN decode(value) END FROM parquet_kv_metadata('${this.#path}')`;
    for (const [key, value] of (await this.#rows(entries)) as [string, string | null][]) {
      if (value !== null) metadata.set(key, value);
      else if (PANDAS_KEYS.has(key) || boundOf(key) !== undefined) {
        const what = `the entry ${quote(key)} of the table's metadata has more than ${MAX_ENTRY_BYTES} bytes`;
        throw tooLarge(reading.position(), what);
      }
    }
    this.index = indexColumns(names, metadata);
    this.zones = timeZones(metadata);
    return { window: windowOf(reading, metadata), rows: Number(file![0]) };
  }

  /** The chunks of a query over the file, `t`, whose columns have their aliases. */
  async *chunks(select: string, order = ""): AsyncGenerator<readonly DuckDBVector[], void, void> {
    const aliases = [...this.columns.map(({ alias }) => alias), "file_row_number"].join(", ");
    const from = `read_parquet('${this.#path}', binary_as_string = true, file_row_number = true) AS t(${aliases})`;
    try {
      const result = await this.#tables.connection.stream(`SELECT ${select} FROM ${from} ${order}`);
      for (;;) {
        this.#signal?.throwIfAborted();
        const chunk = await result.fetchChunk();
        if (chunk === null || chunk.rowCount === 0) return;
        yield Array.from({ length: chunk.columnCount }, (_, j) => chunk.getColumnVector(j));
      }
    } catch (error) {
      throw this.#fault(error);
    }
  }

  async #rows(sql: string): Promise<readonly unknown[][]> {
    try {
      return (await this.#tables.connection.runAndReadAll(sql)).getRows();
    } catch (error) {
      throw this.#fault(error);
    }
  }

  #fault(error: unknown): unknown {
    if (!(error instanceof Error) || this.#signal?.aborted === true || "code" in error) return error;
    const [line] = error.message.replaceAll(this.#path, "the file").split("\n");
    if (/No space left/.test(error.message)) return workFolderError("written", error);
    if (/^Out of Memory/.test(error.message))
      return tooLarge(
        { source: this.#source },
        "the table needs more memory than sorting it may take; sort it by ticker",
      );
    return unreadable(this.#source, `the Parquet table cannot be read: ${line}`);
  }
}

type SchemaElement = readonly [name: string, children: bigint | null, precision: number | bigint | null];

const MAX_DECIMAL_DIGITS = 38;
/** The column that DuckDB adds. */
const ROW_NUMBER = "file_row_number";

/** The columns at the top of a schema, whose elements follow each other depth first; the first is the root. */
function topLevel(schema: readonly SchemaElement[]): SchemaElement[] {
  const columns: SchemaElement[] = [];
  let at = 1;
  const skip = (): void => {
    const children = Number(schema[at++]?.[1] ?? 0);
    for (let i = 0; i < children; i++) skip();
  };
  while (at < schema.length) {
    columns.push(schema[at]!);
    skip();
  }
  return columns;
}

/** The window of a table of prices: entries of its metadata, or attributes of a pandas DataFrame, under the names that JSON has. */
function windowOf(reading: Reading, metadata: ReadonlyMap<string, string>): RequestedWindow {
  const bounds = new WindowBounds(reading.source);
  if (reading.kind === "prices") {
    for (const [name, value] of [...metadata, ...Object.entries(frameAttributes(metadata))])
      bounds.add(name, value);
  }
  return bounds.window();
}

/** The columns of a table that a blob consists of. */
interface TableColumns {
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
function tableColumns(reading: Reading, all: readonly Column[], index: ReadonlySet<string>): TableColumns {
  const fault = (what: string) => invalid(reading.position(), `the table ${what}`);
  const others = all.filter(({ name }) => !["date", "ticker"].includes(reading.roles.of(name).role));
  const indexOf = (kinds: readonly ColumnKind[]) =>
    others.find(({ name, kind }) => index.has(name) && kinds.includes(kind));
  const date = only(reading, all, "date") ?? indexOf(["day", "local time", "instant"]);
  const ticker = only(reading, all, "ticker") ?? indexOf(["text"]) ?? tickersByName(reading, others);
  if (date === undefined) throw fault("has no column of dates; date or timestamp is expected");
  if (date.kind === "other" || date.type === "float")
    throw typeFault(reading, date, "dates, timestamps or texts");
  if (ticker !== undefined && ticker.kind !== "text" && !ticker.isInteger)
    throw typeFault(reading, ticker, "texts or integers");
  const data = others.filter((column) => column !== date && column !== ticker && !index.has(column.name));
  const values = valueColumns(reading, data, ticker);
  for (const column of values.values())
    if (column.kind !== "number") throw typeFault(reading, column, "numbers");
  if (values.size > MAX_COLUMNS)
    throw tooLarge(reading.position(), `the table has more than ${MAX_COLUMNS} columns`);
  return { date, ticker, values };
}

/** A column of texts or whole numbers whose name often means a ticker, the best first. */
function tickersByName(reading: Reading, columns: readonly Column[]): Column | undefined {
  const rank = ({ name }: Column) => TICKER_NAMES.indexOf(plainName(name));
  const hasPrice = columns.some(({ name }) => reading.roles.of(name).role === "price");
  return columns
    .filter((column) => rank(column) >= 0 && (column.kind === "text" || (hasPrice && column.isInteger)))
    .sort((a, b) => rank(a) - rank(b))[0];
}

/** The columns to read, by the name of the feature, the price or the ticker. */
function valueColumns(
  reading: Reading,
  data: readonly Column[],
  ticker: Column | undefined,
): ReadonlyMap<string, Column> {
  const names = data.map(({ name }) => name);
  const fault = (what: string) => invalid(reading.position(), `the table ${what}`);
  const twice = names.find((name, i) => names.indexOf(name) < i);
  if (twice !== undefined) throw fault(`has two columns ${quote(twice)}`);
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
    throw fault(`names its tickers in ${quote(ticker.name)}; leave out --ticker`);
  const price = priceColumn(names, (what, advice) => invalid(reading.position(), what, advice));
  return new Map([[names[price]!, data[price]!]]);
}

function typeFault(reading: Reading, { name, type }: Column, expected: string) {
  return invalid(
    reading.position(),
    `the column ${quote(name)} is of type ${type}; ${expected} are expected`,
  );
}

/** The column of a role; in a price blob, the one with the lowest rank. */
function only(reading: Reading, columns: readonly Column[], role: "date" | "ticker"): Column | undefined {
  const rank = ({ name }: Column) => reading.roles.of(name).rank;
  const [best, next] = columns
    .filter(({ name }) => reading.roles.of(name).role === role)
    .sort((a, b) => rank(a) - rank(b));
  if (next === undefined || (reading.kind === "prices" && rank(best!) < rank(next))) return best;
  const what = `the table has two columns of ${role}s, ${quote(best!.name)} and ${quote(next.name)}`;
  throw invalid(reading.position(), what);
}

/** A column of numbers as float64, NaN for null; of a decimal the nearest one, which DuckDB gives for its text. */
function number({ alias, type }: Column): string {
  return `coalesce(CAST(${type.startsWith("decimal") ? `CAST(${alias} AS VARCHAR)` : alias} AS DOUBLE), 'nan')`;
}

/** A column of dates in a form that `Days` reads. */
function date({ alias, kind, type }: Column): string {
  if (kind === "day") return `CAST(date_diff('day', DATE '1970-01-01', ${alias}) AS DOUBLE)`;
  if (kind === "number") return `CAST(${alias} AS DOUBLE)`;
  if (kind === "text") return `CAST(${alias} AS VARCHAR)`;
  return type === "timestamp_ns" ? `epoch_ns(${alias})` : `epoch_us(${alias})`;
}

/** The zone that the caller names for times of day, and the zone that a column of instants is in: UTC if it is undefined. */
interface Zones {
  readonly named: ZoneCalendar | undefined;
  readonly own: ZoneCalendar | undefined;
}

/** Days of the cells of a column, as `date` selects them. */
class Days {
  readonly #column: Column;
  readonly #zones: Zones;

  constructor(column: Column, zones: Zones) {
    this.#column = column;
    this.#zones = zones;
  }

  /** Writes the days of the cells from `at` on into `into`. @throws MucastError invalid_data for a cell that is no date. */
  copy(vector: DuckDBVector, at: number, into: Int32Array, position: () => Position): void {
    let last: unknown;
    for (let i = 0; i < into.length; i++) {
      const value = vector.getItem(at + i);
      into[i] = i > 0 && value === last ? into[i - 1]! : this.#dayOf(value, position);
      last = value;
    }
  }

  #dayOf(value: unknown, position: () => Position): number {
    if (value === null) throw invalid(position(), "is null; a date is expected");
    if (typeof value === "bigint") return this.#dayOfTime(value, position);
    const isText = typeof value === "string";
    const day = isText
      ? dayOfText(value, this.#zones.named)
      : dayOfEpoch((value as number) * (this.#column.kind === "day" ? MILLISECONDS_PER_DAY : 1));
    if (!Number.isNaN(day)) return day;
    const shown = isText ? quote(value) : String(value);
    throw invalid(position(), `is ${shown}, which ${whyNoDate(value as string | number)}`);
  }

  /** Midnight keeps its date: of a local time, and of an instant in its own zone. Other times have a date in the zone that the caller names. */
  #dayOfTime(time: bigint, position: () => Position): number {
    const { named, own } = this.#zones;
    const isInstant = this.#column.kind === "instant";
    const perMillisecond = this.#column.type === "timestamp_ns" ? 1_000_000n : 1_000n;
    const perDay = perMillisecond * BigInt(MILLISECONDS_PER_DAY);
    const rest = ((time % perDay) + perDay) % perDay;
    const midnight = Number((time - rest) / perDay) * MILLISECONDS_PER_DAY;
    const instant = midnight + Number(rest / perMillisecond);
    let day = rest === 0n ? dayOfEpoch(midnight) : Number.NaN;
    if (isInstant && own !== undefined) day = own(instant - 1) < own(instant) ? own(instant) : Number.NaN;
    if (Number.isNaN(day) && named !== undefined) day = isInstant ? named(instant) : dayOfEpoch(midnight);
    if (!Number.isNaN(day)) return day;
    const shown = Number.isFinite(instant) ? new Date(instant).toISOString() : String(time);
    throw invalid(position(), `is ${shown}, which ${NO_MIDNIGHT}`);
  }
}

/**
 * A table with a row for each ticker and date, in any order. DuckDB counts the rows of each ticker, and sorts them unless each ticker's rows
 * follow each other.
 */
async function* readLong(
  table: Table,
  reading: Reading,
  { date: dates, values }: TableColumns,
  tickers: Column,
  cellDays: Days,
): AsyncGenerator<TickerSeries, void, void> {
  const columns = [...values.keys()].map((name) => reading.columnName(name));
  const name = `CAST(${tickers.alias} AS VARCHAR)`;
  const counts: { readonly ticker: string; readonly rows: number }[] = [];
  let isGrouped = true;
  const grouped = `${name}, count(*), min(file_row_number) AS first, max(file_row_number)`;
  for await (const vectors of table.chunks(grouped, "GROUP BY 1 ORDER BY first")) {
    for (let i = 0; i < vectors[0]!.itemCount; i++) {
      const [ticker, ...numbers] = vectors.map((vector) => vector.getItem(i));
      if (ticker === null)
        throw invalid(
          { source: reading.source, path: tickers.name },
          "is null in a row; a ticker is expected",
        );
      const [rows, first, last] = numbers.map(Number);
      isGrouped &&= last! - first! + 1 === rows;
      reading.claim(ticker as string, columns, rows!);
      counts.push({ ticker: ticker as string, rows: rows! });
    }
  }
  const select = [date(dates), ...[...values.values()].map(number)].join(", ");
  if (!isGrouped) counts.sort((a, b) => compareCodePoints(a.ticker, b.ticker));
  const chunks = table.chunks(select, isGrouped ? "" : `ORDER BY ${name}, ${dates.alias}`);
  let chunk: readonly DuckDBVector[] = [];
  let cells: readonly Float64Array[] = [];
  let at = 0;
  for (const { ticker, rows } of counts) {
    const days = new Int32Array(rows);
    const series = new Float64Array(columns.length * rows);
    const position = () => reading.position(ticker, dates.name);
    for (let row = 0; row < rows; ) {
      if (at === (chunk[0]?.itemCount ?? 0)) {
        chunk = (await chunks.next()).value!;
        cells = chunk.slice(1).map(numbersOf);
        at = 0;
      }
      const count = Math.min(rows - row, chunk[0]!.itemCount - at);
      cellDays.copy(chunk[0]!, at, days.subarray(row, row + count), position);
      for (const [j, column] of cells.entries()) series.set(column.subarray(at, at + count), j * rows + row);
      at += count;
      row += count;
    }
    dropInfinite(series);
    const calendar = new Calendar(days, reading.position(ticker));
    calendar.arrange(series);
    yield { ticker, columns, days: calendar.days, values: series };
  }
}

function numbersOf(vector: DuckDBVector): Float64Array {
  return (vector as unknown as { readonly items: Float64Array }).items;
}

/** Infinite values count as missing, as in JSON. */
function dropInfinite(values: Float64Array): void {
  for (let i = 0; i < values.length; i++) if (!Number.isFinite(values[i])) values[i] = Number.NaN;
}

/** A table of prices with a column per ticker. */
async function* readWide(
  table: Table,
  reading: Reading,
  { date: dates, values }: TableColumns,
  rows: number,
  cellDays: Days,
): AsyncGenerator<TickerSeries, void, void> {
  const position = { source: reading.source, path: dates.name };
  reading.hold(rows * values.size);
  const select = [date(dates), ...[...values.values()].map(number)].join(", ");
  const days = new Int32Array(rows);
  const prices = Array.from(values, () => new Float64Array(rows));
  let at = 0;
  for await (const [cells, ...columns] of table.chunks(select)) {
    for (const [j, column] of columns.entries()) prices[j]!.set(numbersOf(column), at);
    cellDays.copy(cells!, 0, days.subarray(at, at + cells!.itemCount), () => position);
    at += cells!.itemCount;
  }
  const calendar = new Calendar(days, position);
  for (const [j, name] of [...values.keys()].entries()) {
    reading.claim(name, ["price"], days.length);
    dropInfinite(prices[j]!);
    calendar.arrange(prices[j]!);
    yield { ticker: name, columns: ["price"], days: calendar.days, values: prices[j]! };
  }
}
