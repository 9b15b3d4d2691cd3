import { type BlobLimits, DEFAULT_BLOB_LIMITS } from "../contract/blob-limits.ts";
import type {
  ByteSource,
  RequestedWindow,
  TickerFeatures,
  TickerSeries,
} from "../contract/market/ticker-series.ts";
import { readDocument } from "./document.ts";
import { invalid, NOT_A_BLOB, unreadable } from "./faults.ts";
import type { BlobKind } from "./field-names.ts";
import { JsonScanner } from "./json-scanner.ts";
import { MAGIC, type ParquetOptions, readParquet } from "./parquet.ts";
import { Reading } from "./reading.ts";
import { rowNumbers, withoutColumns } from "./row-numbers.ts";

export interface ReadOptions extends ParquetOptions {
  /** The defaults if it is missing. */
  readonly limits?: BlobLimits | undefined;
  /** The name of the security, if a table of prices does not name it. */
  readonly ticker?: string | undefined;
}

/**
 * Reads a blob and yields each ticker once it is complete. Only when the generator has returned is the whole blob known to be valid.
 * @returns the window of the blob.
 */
export async function* readBlob(
  kind: BlobKind,
  source: ByteSource,
  options: ReadOptions,
): AsyncGenerator<TickerSeries, RequestedWindow, void> {
  const reading = new Reading(kind, source.name, options.limits ?? DEFAULT_BLOB_LIMITS, options.ticker);
  const scanner = new JsonScanner(source, options.signal);
  try {
    const head = (await scanner.head(MAX_SCHEMA_BYTES)).toString("latin1");
    if (head.startsWith(MAGIC)) return yield* readParquet(scanner.bytes(), reading, options);
    scanner.take(markBytes(head, source.name));
    const isCsv =
      /^"?[A-Za-z]/.test(head) && CSV_LINE.test((await scanner.head(MAX_HEADER_BYTES)).toString());
    if (isCsv) throw unreadable(source.name, "the blob looks like CSV", NOT_A_BLOB);
    if (/^\s*\{\s*"schema"\s*:\s*"mucast\.forecast\//.test(head)) {
      const blob = kind === "prices" ? "data-extraction" : "feature";
      throw invalid(reading.position(), `this is the output of a job, not a ${blob} blob`, NOT_A_BLOB);
    }
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
  for await (const series of readBlob("features", source, options))
    yield withoutColumns(series, rowNumbers([series]));
}

/** Bytes that show the schema of an output. A blob in the layouts of docs/blobs.md does not wait for more. */
const MAX_SCHEMA_BYTES = 48;

/** Bytes that show the first line of a CSV. */
const MAX_HEADER_BYTES = 4_096;

/** First bytes of blobs that are not UTF-8 text. */
const OTHERS: Readonly<Record<string, string>> = {
  "\xff\xfe": "is UTF-16 or UTF-32",
  "\xfe\xff": "is UTF-16 or UTF-32",
  "\0": "is UTF-16 or UTF-32",
  "\x1f\x8b": "is compressed twice, or was not decompressed",
  "PK\x03\x04": "is a zip archive",
};
const UTF8_MARK = "\xef\xbb\xbf";

/** The length of a UTF-8 byte order mark. @throws MucastError unreadable_blob if the first bytes are not UTF-8 text. */
function markBytes(head: string, source: string): number {
  if (head === "") throw unreadable(source, "the blob is empty");
  // In little endian UTF-16, a zero follows the first bracket.
  const other = head[1] === "\0" ? "\0" : Object.keys(OTHERS).find((mark) => head.startsWith(mark));
  if (other !== undefined) throw unreadable(source, `the blob ${OTHERS[other]}; JSON in UTF-8 is expected`);
  return head.startsWith(UTF8_MARK) ? UTF8_MARK.length : 0;
}

/** A JSON text that does not begin with a bracket has no comma. */
const CSV_LINE = /^"?[A-Za-z][^\r\n{}[\]]*[,;\t|][^\r\n{}[\]]*\r?\n/;
