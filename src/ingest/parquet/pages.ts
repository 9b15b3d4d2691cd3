import { crc32 } from "node:zlib";
import { quote, tooLarge } from "../blob-errors.ts";
import { Cursor, faultIn, type Part } from "./cursor.ts";
import { decompress } from "./decompress.ts";
import type { ColumnChunk, StoredFile } from "./footer.ts";
import { readRuns } from "./runs.ts";
import type { LeafColumn } from "./schema.ts";
import { ThriftReader } from "./thrift.ts";
import { encodingName } from "./values.ts";

export interface Page {
  readonly kind: "data" | "dictionary";
  /** For data, the number of rows, including nulls. */
  readonly count: number;
  readonly encoding: number;
  readonly cursor: Cursor;
  /** 1 for each row that has a value, 0 for a null; undefined if no row of the page is null. */
  readonly defined: Uint8Array | undefined;
  /** The number of values: rows that are not null. */
  readonly present: number;
}

/** A row group of one page per column, as fastparquet writes, has pages of MAX_GROUP_ROWS values of eight bytes. */
const MAX_PAGE_BYTES = 2 ** 28;
/** Bytes of all pages of a table together, after decompression: as many as a JSON blob may have. */
const MAX_TABLE_BYTES = 16 * 2 ** 30;
const FIRST_HEADER_BYTES = 256;
/** A header may contain the smallest and the largest text of a page. */
const MAX_HEADER_BYTES = 2 ** 20;

/** `PageType` of parquet.thrift. */
const DATA_PAGE = 0;
const DICTIONARY_PAGE = 2;
const DATA_PAGE_V2 = 3;
const PLAIN = 0;
const PLAIN_DICTIONARY = 2;
const RLE = 3;

interface PageHeader {
  type: number;
  /** Bytes after decompression, and as stored. */
  size: number;
  storedSize: number;
  checksum: number | undefined;
  count: number;
  encoding: number;
  levelEncoding: number;
  /** Of a data page of version 2: bytes of its levels, which are never compressed. */
  levelBytes: number;
  repetitionBytes: number;
  isCompressed: boolean;
}

/** Reads the pages of a file. It holds one at a time. */
export class PageReader {
  readonly #stored: StoredFile;
  #decompressed = 0;

  constructor(stored: StoredFile) {
    this.#stored = stored;
  }

  /** The pages of a column in a row group. All data pages together have one value, or null, for each row. */
  *pages(column: LeafColumn, { codec, start, end }: ColumnChunk, rows: number): Generator<Page, void, void> {
    let at = start;
    let done = 0;
    while (at < end) {
      const part = { source: this.#stored.source, offset: at, column: column.name };
      const { header, length } = this.#header(part, at, end);
      const { type, size, storedSize } = header;
      at += length + storedSize;
      if (size < 0 || storedSize < 0 || at > end)
        throw faultIn(part, "has a page that ends beyond its column");
      if (type !== DATA_PAGE && type !== DICTIONARY_PAGE && type !== DATA_PAGE_V2) continue;
      if (size > MAX_PAGE_BYTES || storedSize > MAX_PAGE_BYTES) {
        throw tooLarge(part, `column ${quote(column.name)} has a page of more than ${MAX_PAGE_BYTES} bytes`);
      }
      if (type !== DICTIONARY_PAGE) done += header.count;
      if (header.count < 0 || done > rows) {
        throw faultIn(part, `has more values than the ${rows} rows of its row group`);
      }
      this.#decompressed += size;
      if (this.#decompressed > MAX_TABLE_BYTES) {
        throw tooLarge(part, `the table has more than ${MAX_TABLE_BYTES} bytes after decompression`);
      }
      const bytes = new Uint8Array(storedSize);
      this.#stored.file.read(bytes, at - storedSize);
      if (header.checksum !== undefined && crc32(bytes) !== header.checksum >>> 0) {
        throw faultIn(part, "has a page whose checksum differs: the file is damaged");
      }
      yield pageOf(header, bytes, codec, column, part);
    }
    if (done === rows) return;
    const part = { source: this.#stored.source, offset: start, column: column.name };
    throw faultIn(part, `has ${done} values in a row group of ${rows} rows`);
  }

  /** The header of a page, whose length follows only from its content. */
  #header(part: Part, at: number, end: number): { readonly header: PageHeader; readonly length: number } {
    for (let size = FIRST_HEADER_BYTES; ; size *= 16) {
      const bytes = new Uint8Array(Math.min(size, end - at));
      this.#stored.file.read(bytes, at);
      const reader = new ThriftReader(bytes, part);
      try {
        return { header: readHeader(reader), length: reader.position };
      } catch (error) {
        if (bytes.length === end - at || size >= MAX_HEADER_BYTES) throw error;
      }
    }
  }
}

function readHeader(reader: ThriftReader): PageHeader {
  const header: PageHeader = {
    type: -1,
    size: -1,
    storedSize: -1,
    checksum: undefined,
    count: 0,
    encoding: -1,
    levelEncoding: RLE,
    levelBytes: 0,
    repetitionBytes: 0,
    isCompressed: true,
  };
  reader.struct((id) => {
    if (id === 1) header.type = reader.integer();
    else if (id === 2) header.size = reader.integer();
    else if (id === 3) header.storedSize = reader.integer();
    else if (id === 4) header.checksum = reader.integer();
    else if (id === 5 || id === 7) {
      reader.struct((member) => {
        if (member === 1) header.count = reader.integer();
        else if (member === 2) header.encoding = reader.integer();
        else if (member === 3 && id === 5) header.levelEncoding = reader.integer();
      });
    } else if (id === 8) {
      reader.struct((member) => {
        if (member === 1) header.count = reader.integer();
        else if (member === 4) header.encoding = reader.integer();
        else if (member === 5) header.levelBytes = reader.integer();
        else if (member === 6) header.repetitionBytes = reader.integer();
        else if (member === 7) header.isCompressed = reader.boolean();
      });
    }
  });
  return header;
}

function pageOf(header: PageHeader, stored: Uint8Array, codec: number, column: LeafColumn, part: Part): Page {
  const { type, size, count, encoding } = header;
  const fault = (what: string) => faultIn(part, what);
  if (type === DICTIONARY_PAGE) {
    if (encoding !== PLAIN && encoding !== PLAIN_DICTIONARY) {
      throw fault(`has a dictionary in the encoding ${encodingName(encoding)}, which cannot be read`);
    }
    const cursor = new Cursor(decompress(stored, codec, size, part), part);
    return { kind: "dictionary", count, encoding, cursor, defined: undefined, present: count };
  }
  if (type === DATA_PAGE) {
    const cursor = new Cursor(decompress(stored, codec, size, part), part);
    if (!column.isOptional)
      return { kind: "data", count, encoding, cursor, defined: undefined, present: count };
    if (header.levelEncoding !== RLE)
      throw fault(
        `has its nulls in the encoding ${encodingName(header.levelEncoding)}, which cannot be read`,
      );
    const levels = new Cursor(cursor.take(cursor.uint32()), part);
    return { kind: "data", count, encoding, cursor, ...readLevels(levels, count) };
  }
  const { levelBytes, repetitionBytes, isCompressed } = header;
  const before = levelBytes + repetitionBytes;
  if (levelBytes < 0 || repetitionBytes < 0 || before > stored.length || before > size) {
    throw fault("has a page that is shorter than its levels");
  }
  const levels = new Cursor(stored.subarray(repetitionBytes, before), part);
  const rest = stored.subarray(before);
  const bytes = decompress(rest, isCompressed ? codec : 0, size - before, part);
  const cursor = new Cursor(bytes, part);
  if (!column.isOptional)
    return { kind: "data", count, encoding, cursor, defined: undefined, present: count };
  return { kind: "data", count, encoding, cursor, ...readLevels(levels, count) };
}

/** The definition levels of a column that is not nested: 1 for a value, 0 for a null. */
function readLevels(cursor: Cursor, count: number): Pick<Page, "defined" | "present"> {
  const defined = new Uint8Array(count);
  readRuns(cursor, 1, defined);
  let present = 0;
  for (let i = 0; i < count; i++) {
    if (defined[i]! > 1) throw cursor.fault("has a level of a nested value");
    present += defined[i]!;
  }
  return { defined: present === count ? undefined : defined, present };
}
