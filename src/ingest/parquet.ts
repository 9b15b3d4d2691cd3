import { writeSync } from "node:fs";
import type { DuckDBVector } from "@duckdb/node-api";
import { workFolderError } from "../contract/errors/system-error.ts";
import { MILLISECONDS_PER_DAY } from "../contract/market/dates.ts";
import {
  compareCodePoints,
  type RequestedWindow,
  type TickerSeries,
} from "../contract/market/ticker-series.ts";
import { openPrivateFile, openTables } from "../tables/duckdb.ts";
import { dayOfEpoch, dayOfText, NO_MIDNIGHT, whyNoDate, type ZoneCalendar } from "./date-text.ts";
import { Calendar, WindowBounds } from "./dates.ts";
import { invalid, type Position, quote, tooLarge, unreadable } from "./faults.ts";
import {
  type Column,
  chooseColumns,
  columnOf,
  PandasMetadata,
  type TableColumns,
} from "./parquet-columns.ts";
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
  /** Aborts the reading, which then throws the signal's reason. */
  readonly signal?: AbortSignal | undefined;
  /** Maximum number of values of a Parquet table, columns times rows; the limit of the format by default. */
  readonly maxTableValues?: number | undefined;
  /** Of times of day in a Parquet table. */
  readonly zone?: ZoneCalendar | undefined;
}

/**
 * Reads a blob that is a Parquet table. Its metadata is at its end, so its bytes go to a file first. Yields the tickers in the order of
 * their rows or, if those are mixed, of code points; and those of a wide table in the order of their columns.
 *
 * @returns the window, if the metadata has one.
 * @throws MucastError unreadable_blob for a damaged file or a part of the format that DuckDB does not read; invalid_data, too_large,
 * output_failed.
 */
export async function* readParquet(
  bytes: AsyncIterable<Uint8Array>,
  reading: Reading,
  { workFolder, maxTableValues: maxValues = MAX_TABLE_VALUES, signal, zone }: ParquetOptions,
): AsyncGenerator<TickerSeries, RequestedWindow, void> {
  const file = await openPrivateFile(workFolder);
  let table: Table | undefined;
  try {
    for await (const chunk of bytes) write(chunk, file.descriptor);
    const tables = await openTables([file.path], file.folder, MEMORY);
    table = new Table(tables, file.path, reading, signal);
    const { columns, metadata, rows } = await table.describe();
    const pandas = new PandasMetadata(metadata);
    const chosen = chooseColumns(reading, columns, pandas.index(columns.map(({ name }) => name)));
    if (rows * Math.max(1, chosen.values.size) > maxValues)
      throw tooLarge(reading.position(), `the table has more than ${maxValues} values, columns times rows`);
    const zones = { named: zone, own: pandas.zone(chosen.date.name) };
    if (chosen.ticker === undefined) yield* readWide(table, reading, chosen, rows, zones);
    else yield* readLong(table, reading, chosen, chosen.ticker, zones);
    const bounds = new WindowBounds(reading.source);
    if (reading.kind === "prices")
      for (const entry of [...metadata, ...Object.entries(pandas.attributes)]) bounds.add(...entry);
    return bounds.window();
  } finally {
    table?.close();
    await file.close();
  }
}

function write(chunk: Uint8Array, descriptor: number): void {
  try {
    for (let done = 0; done < chunk.length; ) done += writeSync(descriptor, chunk, done);
  } catch (error) {
    throw workFolderError("written", error);
  }
}

type SchemaElement = readonly [name: string, children: bigint | null, precision: bigint | null];

/** The columns at the top of a schema, whose elements follow each other depth first; the first is the root. */
function topLevel(schema: readonly SchemaElement[]): SchemaElement[] {
  const columns: SchemaElement[] = [];
  for (let at = 1; at < schema.length; ) {
    columns.push(schema[at]!);
    for (let open = 1; open > 0 && at < schema.length; at++) open += Number(schema[at]![1] ?? 0) - 1;
  }
  return columns;
}

type Tables = Awaited<ReturnType<typeof openTables>>;

/** A Parquet file, opened by a DuckDB that can read nothing else. */
class Table {
  readonly #tables: Tables;
  readonly #file: string;
  readonly #reading: Reading;
  readonly #signal: AbortSignal | undefined;
  readonly #interrupt = () => this.#tables.connection.interrupt();

  constructor(tables: Tables, path: string, reading: Reading, signal: AbortSignal | undefined) {
    this.#tables = tables;
    this.#file = `'${path}'`;
    this.#reading = reading;
    this.#signal = signal;
    signal?.addEventListener("abort", this.#interrupt);
  }

  close(): void {
    this.#signal?.removeEventListener("abort", this.#interrupt);
    this.#tables.close();
  }

  async describe() {
    const [[rows] = []] = await this.#rows(`SELECT num_rows FROM parquet_file_metadata(${this.#file})`);
    const schema = `SELECT name, num_children, precision FROM parquet_schema(${this.#file})`;
    const elements = topLevel((await this.#rows(schema)) as unknown as SchemaElement[]);
    const described = `DESCRIBE SELECT * FROM read_parquet(${this.#file}, binary_as_string = true)`;
    const columns = (await this.#rows(described)).map(([, type], i) => {
      const [name, , precision] = elements[i]!;
      return columnOf(name, i, String(type), Number(precision ?? 0));
    });
    this.#columns = columns;
    const metadata = new Map<string, string>();
    const short = `CASE WHEN octet_length(value) <= ${MAX_ENTRY_BYTES} THEN decode(value) END`;
    const entries = `SELECT decode(key), ${short} FROM parquet_kv_metadata(${this.#file})`;
    for (const [key, value] of (await this.#rows(entries)) as [string, string | null][]) {
      const what = `the entry ${quote(key)} of the table's metadata has more than ${MAX_ENTRY_BYTES} bytes`;
      if (value === null) throw tooLarge(this.#reading.position(), what);
      metadata.set(key, value);
    }
    return { columns, metadata, rows: Number(rows) };
  }

  #columns: readonly Column[] = [];

  /** The vectors of each chunk of a query over the file, whose columns have their aliases. */
  async *chunks(select: string, order = ""): AsyncGenerator<readonly DuckDBVector[], void, void> {
    const aliases = [...this.#columns.map(({ alias }) => alias), "file_row_number"].join(", ");
    const file = `read_parquet(${this.#file}, binary_as_string = true`;
    const isSet = this.#columns.some(({ name }) => name === "file_row_number");
    const rows = isSet
      ? `(SELECT *, row_number() OVER () - 1 FROM ${file}))`
      : `${file}, file_row_number = true)`;
    try {
      const result = await this.#tables.connection.stream(
        `SELECT ${select} FROM ${rows} AS t(${aliases}) ${order}`,
      );
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
    if (this.#signal?.aborted === true) return this.#signal.reason;
    if (!(error instanceof Error) || "code" in error) return error;
    const [line] = error.message.replaceAll(this.#file.slice(1, -1), "the file").split("\n");
    if (/No space left/.test(error.message)) return workFolderError("written", error);
    const { source } = this.#reading;
    if (/^Out of Memory/.test(error.message))
      return tooLarge({ source }, "the table needs more memory than sorting it may take; sort it by ticker");
    return unreadable(source, `the Parquet table cannot be read: ${line}`);
  }
}

/** Selects columns of numbers as float64, NaN for null; of a decimal the nearest one, which DuckDB gives for its text. */
function selectNumbers(columns: Iterable<Column>): string[] {
  return Array.from(columns, ({ alias, type }) => {
    const value = type.startsWith("decimal") ? `CAST(${alias} AS VARCHAR)` : alias;
    return `ifnull(CAST(${value} AS DOUBLE), 'nan')`;
  });
}

/** Selects a column of dates as text, or as epoch milliseconds: a double, NaN for null. */
function selectDate({ alias, kind, type }: Column): string {
  if (kind === "text") return `CAST(${alias} AS VARCHAR)`;
  const times: Partial<Record<Column["kind"], string>> = {
    day: `date_diff('day', DATE '1970-01-01', ${alias}) * ${MILLISECONDS_PER_DAY}`,
    "local time": type === "timestamp_ns" ? `epoch_ns(${alias}) / 1e6` : `epoch_us(${alias}) / 1e3`,
    instant: `epoch_us(${alias}) / 1e3`,
  };
  return `ifnull(CAST(${times[kind] ?? alias} AS DOUBLE), 'nan')`;
}

/** The zone that the caller names for times of day, and the zone that a column of instants is in: UTC if it is undefined. */
interface Zones {
  readonly named: ZoneCalendar | undefined;
  readonly own: ZoneCalendar | undefined;
}

/** Writes the days of cells that `selectDate` selects, from `at` on, into `into`. @throws MucastError invalid_data for a cell that is no date. */
function copyDays(
  vector: DuckDBVector,
  at: number,
  into: Int32Array,
  { kind }: Column,
  zones: Zones,
  position: Position,
): void {
  const times = kind === "text" ? undefined : numbersOf(vector);
  let last: unknown;
  for (let i = 0; i < into.length; i++) {
    const value = times === undefined ? (vector.getItem(at + i) as string | null) : times[at + i]!;
    if (i > 0 && value === last) {
      into[i] = into[i - 1]!;
      continue;
    }
    last = value;
    const day =
      typeof value === "number" ? dayOfTime(value, kind, zones) : dayOfText(value ?? "", zones.named);
    if (Number.isNaN(day)) throw invalid(position, whyNoCell(value, kind));
    into[i] = day;
  }
}

/** Midnight keeps its date: of a local time, and of an instant in its own zone. Other times have a date in the zone that the caller names. */
function dayOfTime(time: number, kind: Column["kind"], { named, own }: Zones): number {
  const isInstant = kind === "instant";
  let day = dayOfEpoch(time);
  if (isInstant && own !== undefined) day = own(time - 1) < own(time) ? own(time) : Number.NaN;
  if (!Number.isNaN(day) || named === undefined || !(isInstant || kind === "local time")) return day;
  return isInstant ? named(time) : dayOfEpoch(Math.floor(time / MILLISECONDS_PER_DAY) * MILLISECONDS_PER_DAY);
}

function whyNoCell(value: string | number | null, kind: Column["kind"]): string {
  if (value === null || Number.isNaN(value)) return "is null; a date is expected";
  if (typeof value === "string") return `is ${quote(value)}, which ${whyNoDate(value)}`;
  if (kind !== "instant" && kind !== "local time") return `is ${value}, which ${whyNoDate(value)}`;
  const date = new Date(value);
  return `is ${Number.isNaN(date.valueOf()) ? value : date.toISOString()}, which ${NO_MIDNIGHT}`;
}

/**
 * A table with a row for each ticker and date, in any order. DuckDB counts the rows of each ticker, and sorts them unless each ticker's rows
 * follow each other.
 */
async function* readLong(
  table: Table,
  reading: Reading,
  chosen: TableColumns,
  tickers: Column,
  zones: Zones,
): AsyncGenerator<TickerSeries, void, void> {
  const columns = [...chosen.values.keys()].map((name) => reading.columnName(name));
  const name = `CAST(${tickers.alias} AS VARCHAR)`;
  const runs: { readonly ticker: string; readonly rows: number; readonly position: Position }[] = [];
  let isGrouped = true;
  const grouped = `${name}, count(*), min(file_row_number) AS first, max(file_row_number)`;
  for await (const vectors of table.chunks(grouped, "GROUP BY 1 ORDER BY first")) {
    for (let i = 0; i < vectors[0]!.itemCount; i++) {
      const [ticker, ...numbers] = vectors.map((vector) => vector.getItem(i)) as [string | null, ...bigint[]];
      if (ticker === null)
        throw invalid(reading.place(tickers.name), "is null in a row; a ticker is expected");
      const [rows, first, last] = numbers.map(Number);
      isGrouped &&= last! - first! + 1 === rows;
      reading.claim(ticker, columns, rows!);
      runs.push({ ticker, rows: rows!, position: reading.position(ticker, chosen.date.name) });
    }
  }
  if (!isGrouped) runs.sort((a, b) => compareCodePoints(a.ticker, b.ticker));
  const order = isGrouped ? "" : `ORDER BY ${name}, ${chosen.date.alias}`;
  for await (const { run, calendar, values } of readRuns(table, chosen, zones, runs, order))
    yield { ticker: run.ticker, columns, days: calendar.days, values };
}

/** A table of prices with a column per ticker. */
async function* readWide(
  table: Table,
  reading: Reading,
  chosen: TableColumns,
  rows: number,
  zones: Zones,
): AsyncGenerator<TickerSeries, void, void> {
  reading.hold(rows * chosen.values.size);
  const run = { rows, position: reading.place(chosen.date.name) };
  for await (const { calendar, values } of readRuns(table, chosen, zones, [run])) {
    for (const [j, ticker] of [...chosen.values.keys()].entries()) {
      reading.claim(ticker, ["price"], rows);
      const prices = values.subarray(j * rows, (j + 1) * rows);
      yield { ticker, columns: ["price"], days: calendar.days, values: prices };
    }
  }
}

/** Reads runs of rows that follow each other: of each the dates and the values, shape (k, n), in order. */
async function* readRuns<R extends { readonly rows: number; readonly position: Position }>(
  table: Table,
  { date, values }: TableColumns,
  zones: Zones,
  runs: Iterable<R>,
  order = "",
) {
  const chunks = table.chunks([selectDate(date), ...selectNumbers(values.values())].join(", "), order);
  let [chunk, at]: [readonly DuckDBVector[], number] = [[], 0];
  for (const run of runs) {
    const n = run.rows;
    const days = new Int32Array(n);
    const series = new Float64Array(values.size * n);
    for (let row = 0; row < n; ) {
      if (at === (chunk[0]?.itemCount ?? 0)) [chunk, at] = [(await chunks.next()).value!, 0];
      const count = Math.min(n - row, chunk[0]!.itemCount - at);
      copyDays(chunk[0]!, at, days.subarray(row, row + count), date, zones, run.position);
      for (let j = 0; j < values.size; j++)
        series.set(numbersOf(chunk[j + 1]!).subarray(at, at + count), j * n + row);
      at += count;
      row += count;
    }
    // Infinite values count as missing, as in JSON.
    for (let i = 0; i < series.length; i++) if (!Number.isFinite(series[i])) series[i] = Number.NaN;
    const calendar = new Calendar(days, run.position);
    calendar.arrange(series);
    yield { run, calendar, values: series };
  }
}

function numbersOf(vector: DuckDBVector): Float64Array {
  return (vector as unknown as { readonly items: Float64Array }).items;
}
