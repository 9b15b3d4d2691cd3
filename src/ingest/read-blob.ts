import { type BlobLimits, DEFAULT_BLOB_LIMITS } from "../contract/blob-limits.ts";
import type {
  ByteSource,
  RequestedWindow,
  TickerFeatures,
  TickerSeries,
} from "../contract/market/ticker-series.ts";
import type { ZoneCalendar } from "./date-text.ts";
import { readDocument } from "./document.ts";
import { invalid, NOT_A_BLOB, unreadable } from "./faults.ts";
import type { BlobKind } from "./field-names.ts";
import { JsonScanner } from "./json-scanner.ts";
import { MAGIC, readParquet } from "./parquet.ts";
import { Reading } from "./reading.ts";
import { rowNumbers, withoutColumns } from "./row-numbers.ts";

export interface ReadOptions {
  /** An existing private folder, for a table whose end must be read first. No file remains in it. */
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

/**
 * Reads a blob and yields each ticker once it is complete. Only when the generator has returned is the whole blob known to be valid.
 * @returns the window of the blob.
 */
export async function* readBlob(
  kind: BlobKind,
  source: ByteSource,
  { workFolder, signal, limits = DEFAULT_BLOB_LIMITS, maxTableValues, ticker, zone }: ReadOptions,
): AsyncGenerator<TickerSeries, RequestedWindow, void> {
  const reading = new Reading(kind, source.name, limits, ticker);
  const scanner = new JsonScanner(source, signal);
  try {
    let head = await scanner.head(MAX_SCHEMA_BYTES);
    if (head.toString("latin1", 0, MAGIC.length) === MAGIC)
      return yield* readParquet(scanner.bytes(), reading, {
        workFolder,
        signal,
        maxValues: maxTableValues,
        zone,
      });
    scanner.take(markBytes(head, source.name));
    if (/^"?[A-Za-z]/.test(head.toString("latin1"))) head = await scanner.head(MAX_HEADER_BYTES);
    checkContent(head.toString(), reading);
    return yield* readDocument(scanner, reading);
  } finally {
    await scanner.close();
  }
}

/** Reads a feature blob like `readBlob`, ticker by ticker. */
export async function* readFeatures(
  source: ByteSource,
  options: ReadOptions,
): AsyncGenerator<TickerFeatures, void, void> {
  for await (const series of readBlob("features", source, options)) {
    yield withoutColumns(series, rowNumbers([series]));
  }
}

/** Bytes that show the schema of an output. A blob in the layouts of docs/blobs.md does not wait for more. */
const MAX_SCHEMA_BYTES = 48;

/** Bytes that show the first line of a CSV. */
const MAX_HEADER_BYTES = 4_096;

/** First bytes of blobs that are not UTF-8 text. A zero is next to the first bracket of UTF-16 and UTF-32. */
const OTHERS: readonly (readonly [RegExp, string])[] = [
  [/^(\xff\xfe|\xfe\xff|.?\0)/, "is UTF-16 or UTF-32"],
  [/^\x1f\x8b/, "is compressed twice, or was not decompressed"],
  [/^PK\x03\x04/, "is a zip archive"],
];
const UTF8_MARK = "\xef\xbb\xbf";

/** The length of a UTF-8 byte order mark. @throws MucastError unreadable_blob if the first bytes are not UTF-8 text. */
function markBytes(head: Buffer, source: string): number {
  if (head.length === 0) throw unreadable(source, "the blob is empty");
  const text = head.toString("latin1");
  const other = OTHERS.find(([mark]) => mark.test(text))?.[1];
  if (other !== undefined) throw unreadable(source, `the blob ${other}; JSON in UTF-8 is expected`);
  return text.startsWith(UTF8_MARK) ? UTF8_MARK.length : 0;
}

/** A JSON text that does not begin with a bracket has no comma. */
const CSV_LINE = /^"?[A-Za-z][^\r\n{}[\]]*[,;\t|][^\r\n{}[\]]*\r?\n/;

/** @throws MucastError for what was given in place of a blob. */
function checkContent(head: string, { kind, source }: Reading): void {
  if (CSV_LINE.test(head)) throw unreadable(source, "the blob looks like CSV", NOT_A_BLOB);
  if (/^\s*\{\s*"schema"\s*:\s*"mucast\.forecast\//.test(head)) {
    const blob = kind === "prices" ? "data-extraction" : "feature";
    throw invalid({ source }, `this is the output of a job, not a ${blob} blob`, NOT_A_BLOB);
  }
}
