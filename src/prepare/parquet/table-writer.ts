import type { Compression } from "../../contract/config/input-formats.ts";
import type { TickerSeries } from "../../contract/market/ticker-series.ts";
import { CODECS } from "./compress.ts";
import {
  BYTE_STREAM_SPLIT,
  dataPage,
  dictionaryPage,
  numbersBody,
  PLAIN,
  RLE,
  RLE_DICTIONARY,
  type StoredPage,
  textRunsBody,
  textsBody,
} from "./table-pages.ts";
import { type ThriftFields, thriftBytes } from "./thrift-writer.ts";

/** A long table to write: a row for each ticker and date, with columns of numbers. */
export interface LongTable {
  /** Names of the columns beside `date` and `ticker`. */
  readonly columns: readonly string[];
  readonly isFloat32: boolean;
  readonly compression: Compression;
  readonly metadata: Readonly<Record<string, string>>;
}

const MAGIC = Buffer.from("PAR1");

/** Values of a row group, which are in memory while it is filled: 32 MiB, unless a table has more than 1,024 columns. */
const GROUP_VALUES = 2 ** 22;
const MIN_GROUP_ROWS = 2 ** 12;
const MAX_GROUP_ROWS = 2 ** 17;

/** Numbers of parquet.thrift. */
const Type = { int32: 1, float: 4, double: 5, text: 6 } as const;
const REQUIRED = 0;
const OPTIONAL = 1;
const UTF8 = 0;
const DATE = 6;

/**
 * The bytes of a Parquet file, in pieces. The bytes depend only on the table, and for zstd on the version of the compressor.
 * @param dates the rows of each ticker, ascending. A ticker's values on other days are omitted, and its missing values are null.
 */
export function* tableBytes(
  table: LongTable,
  dates: Int32Array,
  tickers: Iterable<TickerSeries>,
): Generator<Uint8Array> {
  yield MAGIC;
  let offset = MAGIC.length;
  const groups: ThriftFields[] = [];
  let rows = 0;
  for (const group of rowGroups(table.columns.length, dates, tickers)) {
    const start = offset;
    const chunks: ThriftFields[] = [];
    for (const column of groupColumns(table, group)) {
      chunks.push([
        [2, { i64: 0 }],
        [3, { struct: chunkMetadata(column, group.rows, offset, table.compression) }],
      ]);
      for (const { parts, storedSize } of column.pages) {
        yield* parts;
        offset += storedSize;
      }
    }
    groups.push([
      [1, { structs: chunks }],
      [2, { i64: offset - start }],
      [3, { i64: group.rows }],
    ]);
    rows += group.rows;
  }
  const footer = thriftBytes(fileMetadata(table, rows, groups));
  const tail = Buffer.alloc(4);
  tail.writeUInt32LE(footer.length);
  yield footer;
  yield tail;
  yield MAGIC;
}

interface RowGroup {
  readonly rows: number;
  readonly days: Int32Array;
  readonly tickers: readonly string[];
  readonly counts: readonly number[];
  readonly values: readonly Float64Array[];
}

function* rowGroups(
  columns: number,
  dates: Int32Array,
  tickers: Iterable<TickerSeries>,
): Generator<RowGroup> {
  const room = Math.min(MAX_GROUP_ROWS, Math.max(MIN_GROUP_ROWS, Math.floor(GROUP_VALUES / columns)));
  const days = new Int32Array(room);
  const values = Array.from({ length: columns }, () => new Float64Array(room));
  let [rows, names, counts]: [number, string[], number[]] = [0, [], []];
  const group = (): RowGroup => ({
    rows,
    days: days.subarray(0, rows),
    tickers: names,
    counts,
    values: values.map((column) => column.subarray(0, rows)),
  });
  for (const series of tickers) {
    let row = 0;
    for (let from = 0; from < dates.length; ) {
      const some = dates.subarray(from, from + room - rows);
      days.set(some, rows);
      row = fillRows(values, rows, some, series, row);
      names.push(series.ticker);
      counts.push(some.length);
      rows += some.length;
      from += some.length;
      if (rows < room) continue;
      yield group();
      [rows, names, counts] = [0, [], []];
    }
  }
  if (rows > 0) yield group();
}

/** @param row the ticker's first row that may have one of the dates. @returns the same for the dates after them. */
function fillRows(
  into: readonly Float64Array[],
  start: number,
  dates: Int32Array,
  { days, values }: TickerSeries,
  row: number,
): number {
  let next = row;
  for (const [i, date] of dates.entries()) {
    while (next < days.length && days[next]! < date) next++;
    const isThere = days[next] === date;
    for (let c = 0; c < into.length; c++) {
      const value = isThere ? values[c * days.length + next]! : Number.NaN;
      into[c]![start + i] = Number.isFinite(value) ? value : Number.NaN;
    }
  }
  return next;
}

interface ColumnPages {
  readonly name: string;
  readonly type: number;
  readonly encodings: readonly number[];
  readonly pages: readonly StoredPage[];
}

function* groupColumns(
  { columns, isFloat32, compression }: LongTable,
  { rows, days, tickers, counts, values }: RowGroup,
): Generator<ColumnPages> {
  const dayBytes = new Uint8Array(days.buffer, days.byteOffset, days.byteLength);
  const dayPage = dataPage(dayBytes, rows, PLAIN, compression);
  yield { name: "date", type: Type.int32, encodings: [PLAIN], pages: [dayPage] };
  const tickerPages = [
    dictionaryPage(textsBody(tickers), tickers.length, compression),
    dataPage(textRunsBody(counts), rows, RLE_DICTIONARY, compression),
  ];
  yield { name: "ticker", type: Type.text, encodings: [PLAIN, RLE_DICTIONARY], pages: tickerPages };
  for (const [c, name] of columns.entries()) {
    const page = dataPage(numbersBody(values[c]!, isFloat32), rows, BYTE_STREAM_SPLIT, compression);
    yield {
      name,
      type: isFloat32 ? Type.float : Type.double,
      encodings: [RLE, BYTE_STREAM_SPLIT],
      pages: [page],
    };
  }
}

function chunkMetadata(
  { name, type, encodings, pages }: ColumnPages,
  rows: number,
  offset: number,
  compression: Compression,
): ThriftFields {
  const total = (bytes: "size" | "storedSize") => pages.reduce((sum, page) => sum + page[bytes], 0);
  const [first] = pages;
  const hasDictionary = pages.length > 1;
  return [
    [1, { i32: type }],
    [2, { i32s: encodings }],
    [3, { texts: [name] }],
    [4, { i32: CODECS[compression] }],
    [5, { i64: rows }],
    [6, { i64: total("size") }],
    [7, { i64: total("storedSize") }],
    [9, { i64: hasDictionary ? offset + first!.storedSize : offset }],
    ...(hasDictionary ? [[11, { i64: offset }] as const] : []),
  ];
}

function fileMetadata(
  { columns, isFloat32, metadata }: LongTable,
  rows: number,
  groups: readonly ThriftFields[],
): ThriftFields {
  const keyValues = Object.entries(metadata).map(
    ([key, value]): ThriftFields => [
      [1, { text: key }],
      [2, { text: value }],
    ],
  );
  const number = isFloat32 ? Type.float : Type.double;
  const schema: ThriftFields[] = [
    [
      [4, { text: "schema" }],
      [5, { i32: columns.length + 2 }],
    ],
    element(Type.int32, REQUIRED, "date", DATE),
    element(Type.text, REQUIRED, "ticker", UTF8),
    ...columns.map((name) => element(number, OPTIONAL, name)),
  ];
  return [
    [1, { i32: 1 }],
    [2, { structs: schema }],
    [3, { i64: rows }],
    [4, { structs: groups }],
    ...(keyValues.length > 0 ? [[5, { structs: keyValues }] as const] : []),
    // Without a version, so that a later version writes the same bytes.
    [6, { text: "mucast" }],
  ];
}

function element(type: number, repetition: number, name: string, converted?: number): ThriftFields {
  return [
    [1, { i32: type }],
    [3, { i32: repetition }],
    [4, { text: name }],
    ...(converted === undefined ? [] : [[6, { i32: converted }] as const]),
  ];
}
