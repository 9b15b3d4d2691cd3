import { type BlobLimits, DEFAULT_BLOB_LIMITS } from "../contract/blob-limits.ts";
import type { ByteSource, RequestedWindow, TickerSeries } from "../contract/market/ticker-series.ts";
import { invalid, NOT_A_BLOB, unreadable } from "./blob-errors.ts";
import type { BlockStore } from "./block-store.ts";
import { type BlobKind, BlobNames, ColumnRoles } from "./column-names.ts";
import type { ZoneCalendar } from "./dates/date-text.ts";
import { ByteWindow } from "./json/byte-window.ts";
import { Doubles } from "./json/doubles.ts";
import { runSteps } from "./json/json-parts.ts";
import { JsonReader, type Waiting } from "./json/json-reader.ts";
import { readDocument } from "./layouts/document.ts";
import { isParquet, readTable } from "./parquet/read-table.ts";
import type { Reading, Steps } from "./reading.ts";

export interface ReadOptions {
  /** An existing private folder for columns that do not fit into memory. No file remains in it. */
  readonly workFolder: string;
  /** Aborts the reading, which then throws the signal's reason. */
  readonly signal?: AbortSignal | undefined;
  /** The defaults if it is missing. */
  readonly limits?: BlobLimits | undefined;
  /** Maximum number of values of a Parquet table, columns times rows; the limit of the format by default. */
  readonly maxTableValues?: number | undefined;
  /** The name of the security, if a table of prices does not name it. */
  readonly ticker?: string | undefined;
  /** Of the times of day in a Parquet table. */
  readonly zone?: ZoneCalendar | undefined;
}

export async function* readBlob(
  kind: BlobKind,
  source: ByteSource,
  store: BlockStore,
  { signal, limits = DEFAULT_BLOB_LIMITS, maxTableValues, ticker, zone }: Omit<ReadOptions, "workFolder">,
): AsyncGenerator<TickerSeries, RequestedWindow, void> {
  const bytes = new ByteWindow(source, signal);
  const reading: Reading = {
    kind,
    source: source.name,
    json: new JsonReader(bytes),
    store,
    roles: new ColumnRoles(kind),
    limits,
    maxTableValues,
    ticker,
    zone,
    names: new BlobNames(limits),
    tickers: new Set(),
    buffer: new Doubles(),
  };
  return yield* runSteps(bytes, readWhole(bytes, reading), signal);
}

function* readWhole(bytes: ByteWindow, reading: Reading): Steps<RequestedWindow> {
  while (bytes.end - bytes.position < MAX_MARK_BYTES && !bytes.finished) yield;
  if (isParquet(bytes)) return yield* readTable(bytes, reading);
  yield* checkEncoding(bytes);
  yield* checkContent(bytes, reading.kind);
  return yield* readDocument(reading);
}

const MAX_MARK_BYTES = 4;

/** First bytes of blobs that are not UTF-8 text. A longer mark precedes the shorter one that it begins with. */
const OTHERS: readonly (readonly [readonly number[], string])[] = [
  [[0xff, 0xfe, 0, 0], "is UTF-32"],
  [[0, 0, 0xfe, 0xff], "is UTF-32"],
  [[0xff, 0xfe], "is UTF-16"],
  [[0xfe, 0xff], "is UTF-16"],
  [[0, 0, 0], "is UTF-32"],
  [[0], "is UTF-16"],
  [[0x1f, 0x8b], "is compressed twice, or was not decompressed"],
  [[0x50, 0x4b, 3, 4], "is a zip archive"],
];
const UTF8_MARK = [0xef, 0xbb, 0xbf];

/** Skips a UTF-8 byte order mark. */
export function* checkEncoding(window: ByteWindow): Waiting<void> {
  while (window.end - window.position < MAX_MARK_BYTES && !window.finished) yield;
  const { bytes, position, end, source } = window;
  if (position === end) throw unreadable(source, 0, "the blob is empty");
  const startsWith = (mark: readonly number[]) =>
    end - position >= mark.length && mark.every((byte, i) => bytes[position + i] === byte);
  const other = OTHERS.find(([mark]) => startsWith(mark))?.[1] ?? withoutMark(bytes.subarray(position, end));
  if (other !== undefined) throw unreadable(source, 0, `the blob ${other}; JSON in UTF-8 is expected`);
  if (startsWith(UTF8_MARK)) window.position += UTF8_MARK.length;
}

/** Bytes that show the schema of an output. A blob in the layouts of docs/blobs.md does not wait for more. */
const MAX_SCHEMA_BYTES = 48;

/** Bytes that show the first line of a CSV. */
const MAX_HEADER_BYTES = 4_096;

/** A JSON text that does not begin with a bracket has no comma. */
const CSV_LINE = /^"?[A-Za-z][^\r\n{}[\]]*[,;\t|][^\r\n{}[\]]*\r?\n/;

function* checkContent(window: ByteWindow, kind: BlobKind): Waiting<void> {
  let text = yield* beginning(window, MAX_SCHEMA_BYTES);
  if (/^"?[A-Za-z]/.test(text)) text = yield* beginning(window, MAX_HEADER_BYTES);
  const { source } = window;
  if (CSV_LINE.test(text)) throw unreadable(source, 0, "the blob looks like CSV", NOT_A_BLOB);
  if (/^\s*\{\s*"schema"\s*:\s*"mucast\.forecast\//.test(text)) {
    const blob = kind === "prices" ? "data-extraction" : "feature";
    throw invalid({ source, offset: 0 }, `this is the output of a job, not a ${blob} blob`, NOT_A_BLOB);
  }
}

function* beginning(window: ByteWindow, length: number): Waiting<string> {
  while (window.end - window.position < length && !window.finished) yield;
  const { bytes, position, end } = window;
  return Buffer.from(bytes.subarray(position, Math.min(end, position + length))).toString();
}

/** UTF-16 and UTF-32, little endian: every character at the beginning of a JSON text is followed by zeros. */
function withoutMark(bytes: Uint8Array): string | undefined {
  if (bytes.length < 2 || bytes[1] !== 0) return undefined;
  return bytes[2] === 0 && bytes[3] === 0 ? "is UTF-32" : "is UTF-16";
}
