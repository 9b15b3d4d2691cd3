import { MAX_COLUMNS } from "../../contract/market/ticker-series.ts";
import { quote, tooLarge, unreadable } from "../blob-errors.ts";
import { boundOf } from "../dates/window-bounds.ts";
import type { NamelessFile } from "../nameless-file.ts";
import type { Part } from "./cursor.ts";
import { PANDAS_KEYS } from "./pandas-index.ts";
import { type LeafColumn, PHYSICAL_TYPES, type PhysicalType, readSchema } from "./schema.ts";
import { ThriftReader } from "./thrift.ts";

/** A file whose bytes are in the work folder. */
export interface StoredFile {
  readonly source: string;
  readonly file: NamelessFile;
  readonly size: number;
}

export interface Footer {
  readonly columns: readonly LeafColumn[];
  readonly rows: number;
  readonly groups: number;
  /** The entries that `isReadEntry` selects; later ones of the same key win. */
  readonly metadata: ReadonlyMap<string, string>;
  /** Reads the metadata of a row group, which stays in its compact form until then. */
  group(index: number): RowGroup;
}

export interface RowGroup {
  readonly rows: number;
  readonly chunks: readonly ColumnChunk[];
}

export interface ColumnChunk {
  readonly codec: number;
  readonly start: number;
  readonly end: number;
}

export const MAGIC = "PAR1";
const ENCRYPTED_MAGIC = "PARE";
const MAGIC_BYTES = 4;
/** Length of the metadata, and the magic. */
const TAIL_BYTES = 8;

/** A table of 10,000 columns in 20 row groups has 30 MB of metadata. */
const MAX_FOOTER_BYTES = 64 * 2 ** 20;
/** All keys that mucast reads are shorter. */
const MAX_KEY_BYTES = 100;
/** pandas describes 10,000 columns with names of 300 bytes in less. */
const MAX_ENTRY_BYTES = 8 * 2 ** 20;
/** The format counts row groups in 16 bits. */
const MAX_GROUPS = 32_767;
/** Columns beside values: date and ticker, each perhaps under two names, and an index. */
const MAX_SCHEMA_COLUMNS = MAX_COLUMNS + 8;
/** Rows of a row group. What is kept for each row while a group is read takes about 24 bytes. */
const MAX_GROUP_ROWS = 2 ** 24;

export function readFooter({ source, file, size }: StoredFile): Footer {
  const { bytes, offset } = footerBytes({ source, file, size });
  const part: Part = { source, offset };
  const reader = new ThriftReader(bytes, part);
  let columns: LeafColumn[] | undefined;
  let rows = 0;
  const positions: number[] = [];
  const metadata = new Map<string, string>();
  reader.struct((id) => {
    if (id === 2) columns = readSchema(reader, MAX_SCHEMA_COLUMNS);
    else if (id === 3) rows = reader.integer();
    else if (id === 4) {
      reader.list(() => {
        positions.push(reader.position);
        if (positions.length > MAX_GROUPS)
          throw tooLarge(part, `the table has more than ${MAX_GROUPS} row groups`);
      });
    } else if (id === 5) readKeyValues(reader, metadata);
  });
  if (columns === undefined) throw reader.fault("the metadata has no schema");
  const found = columns;
  if (found.length > MAX_SCHEMA_COLUMNS)
    throw tooLarge(part, `the table has more than ${MAX_COLUMNS} columns`);
  checkNames(found, part);
  const group = (index: number) => {
    reader.position = positions[index]!;
    return readGroup(reader, found, offset);
  };
  checkGroups(reader, positions.length, group, rows);
  return { columns: found, rows, groups: positions.length, metadata, group };
}

function footerBytes({ source, file, size }: StoredFile): {
  readonly bytes: Uint8Array;
  readonly offset: number;
} {
  const short = unreadable(source, 0, "the Parquet file is cut short");
  if (size < MAGIC_BYTES + TAIL_BYTES) throw short;
  const tail = Buffer.alloc(TAIL_BYTES);
  file.read(tail, size - TAIL_BYTES);
  const magic = tail.toString("latin1", 4);
  if (magic === ENCRYPTED_MAGIC)
    throw unreadable(source, size - MAGIC_BYTES, "the Parquet file is encrypted");
  if (magic !== MAGIC) {
    throw unreadable(
      source,
      size - MAGIC_BYTES,
      "the Parquet file does not end in PAR1: it is cut short or damaged",
    );
  }
  const length = tail.readUInt32LE(0);
  const offset = size - TAIL_BYTES - length;
  if (offset < MAGIC_BYTES)
    throw unreadable(
      source,
      size - TAIL_BYTES,
      `the Parquet file has no room for ${length} bytes of metadata`,
    );
  if (length > MAX_FOOTER_BYTES) {
    throw tooLarge(
      { source, offset },
      `the metadata of the Parquet file has more than ${MAX_FOOTER_BYTES} bytes`,
    );
  }
  const bytes = new Uint8Array(length);
  file.read(bytes, offset);
  return { bytes, offset };
}

/** Reads the entries that mucast needs, and skips the others, which other programs may have made large or many. */
function readKeyValues(reader: ThriftReader, into: Map<string, string>): void {
  reader.list(() => {
    let key: string | undefined;
    reader.struct((id) => {
      if (id === 1) key = reader.textUpTo(MAX_KEY_BYTES);
      if (id !== 2 || key === undefined || !isReadEntry(key)) return;
      const value = reader.textUpTo(MAX_ENTRY_BYTES);
      if (value === undefined) {
        const what = `the entry ${quote(key)} of the table's metadata has more than ${MAX_ENTRY_BYTES} bytes`;
        throw tooLarge(reader.part, what);
      }
      into.set(key, value);
    });
  });
}

/** Whether an entry is a bound of the window, or what pandas knows of the columns. */
function isReadEntry(key: string): boolean {
  return boundOf(key) !== undefined || PANDAS_KEYS.has(key);
}

function checkNames(columns: readonly LeafColumn[], part: Part): void {
  const names = new Set<string>();
  for (const { name, isNested } of columns) {
    // All columns of a group have its name.
    if (isNested) continue;
    if (names.has(name)) throw unreadable(part.source, part.offset, `the column ${quote(name)} comes twice`);
    names.add(name);
  }
}

function checkGroups(
  reader: ThriftReader,
  groups: number,
  group: (index: number) => RowGroup,
  tableRows: number,
): void {
  const spans: { readonly start: number; readonly end: number }[] = [];
  let rows = 0;
  for (let index = 0; index < groups; index++) {
    const found = group(index);
    rows += found.rows;
    for (const { start, end } of found.chunks) if (end > start) spans.push({ start, end });
  }
  if (rows !== tableRows)
    throw reader.fault(`the row groups have ${rows} rows together, the table ${tableRows}`);
  spans.sort((a, b) => a.start - b.start);
  let last = MAGIC_BYTES;
  for (const { start, end } of spans) {
    if (start < last) throw reader.fault(`two columns overlap at byte ${start}`);
    last = end;
  }
}

function readGroup(reader: ThriftReader, columns: readonly LeafColumn[], dataEnd: number): RowGroup {
  const chunks: ColumnChunk[] = [];
  let rows = -1;
  const counts: number[] = [];
  reader.struct((id) => {
    if (id === 1) {
      reader.list((index) => {
        const column = columns[index];
        if (column === undefined) throw reader.fault("a row group has more columns than the schema");
        const { count, ...chunk } = readChunk(reader, column, dataEnd);
        chunks.push(chunk);
        counts.push(count);
      });
    } else if (id === 3) rows = reader.integer();
  });
  if (chunks.length !== columns.length) throw reader.fault("a row group has fewer columns than the schema");
  if (rows < 0) throw reader.fault("a row group has no number of rows");
  if (rows > MAX_GROUP_ROWS) {
    const what = `the table has a row group of ${rows} rows; write row groups of at most ${MAX_GROUP_ROWS} rows`;
    throw tooLarge(reader.part, what);
  }
  for (const [i, count] of counts.entries()) {
    if (count === rows || columns[i]!.isNested) continue;
    throw reader.fault(
      `column ${quote(columns[i]!.name)} has ${count} values in a row group of ${rows} rows`,
    );
  }
  return { rows, chunks };
}

function readChunk(
  reader: ThriftReader,
  column: LeafColumn,
  dataEnd: number,
): ColumnChunk & { readonly count: number } {
  const name = quote(column.name);
  let isFound = false;
  let physical: PhysicalType | undefined;
  let [codec, count, length, dataStart, dictionaryStart] = [0, -1, -1, -1, -1];
  let outermost: string | undefined;
  reader.struct((id) => {
    if (id === 1) throw reader.fault(`column ${name} is in another file`);
    if (id === 8 || id === 9) throw reader.fault(`column ${name} is encrypted`);
    if (id !== 3) return;
    isFound = true;
    reader.struct((member) => {
      if (member === 1) physical = PHYSICAL_TYPES[reader.integer()];
      else if (member === 3) {
        reader.list((index) => {
          if (index === 0) outermost = reader.text();
        });
      } else if (member === 4) codec = reader.integer();
      else if (member === 5) count = reader.integer();
      else if (member === 7) length = reader.integer();
      else if (member === 9) dataStart = reader.integer();
      else if (member === 11) dictionaryStart = reader.integer();
    });
  });
  if (!isFound) throw reader.fault(`column ${name} has no metadata in a row group`);
  if (physical !== column.physical || outermost !== column.name) {
    throw reader.fault(`a row group has another column in place of ${name}`);
  }
  if (count === 0) return { codec, count, start: 0, end: 0 };
  const start = dictionaryStart > 0 && dictionaryStart < dataStart ? dictionaryStart : dataStart;
  const end = start + length;
  if (length < 0 || start < MAGIC_BYTES || end > dataEnd) {
    throw reader.fault(`column ${name} lies outside the file, from byte ${start} on with ${length} bytes`);
  }
  return { codec, count, start, end };
}
