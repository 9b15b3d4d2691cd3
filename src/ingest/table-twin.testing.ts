import zlib from "node:zlib";
import { parquetReadObjects } from "hyparquet";
import {
  compareCodePoints,
  type RequestedWindow,
  type TickerSeries,
} from "../contract/market/ticker-series.ts";
import { cut, sourceOf } from "./chunks.testing.ts";
import type { BlobKind } from "./field-names.ts";
import { readBlob } from "./read-blob.ts";

/** A blob as it was read. */
export interface ReadBlob {
  readonly window: RequestedWindow;
  readonly tickers: readonly TickerSeries[];
}

/** Reads a blob of any format, its tickers in code point order. @param lengths of the chunks that its bytes come in. */
export async function readBytes(
  kind: BlobKind,
  bytes: Uint8Array,
  workFolder: string,
  lengths: readonly number[] = [],
): Promise<ReadBlob> {
  const tickers: TickerSeries[] = [];
  const steps = readBlob(kind, sourceOf(cut(bytes, lengths), "blob.parquet"), { workFolder });
  for (;;) {
    const step = await steps.next();
    if (step.done === true) return { window: step.value, tickers: tickers.sort(byTicker) };
    tickers.push(step.value);
  }
}

function byTicker(a: TickerSeries, b: TickerSeries): number {
  return compareCodePoints(a.ticker, b.ticker);
}

/** The columns of a table that the twin renames; those without a name are dropped. */
export type Renames = Readonly<Record<string, string | undefined>>;

/** The slow twin: hyparquet's own reader turns the table into records, and the JSON reader reads them. */
export async function readTwin(
  kind: BlobKind,
  bytes: Uint8Array,
  workFolder: string,
  renames: Renames = {},
): Promise<ReadBlob> {
  const text = Buffer.from(await jsonRecords(bytes, renames));
  return readBytes(kind, text, workFolder);
}

/** The table as flat records. Numbers keep their float64, and nulls are written as null. */
export async function jsonRecords(bytes: Uint8Array, renames: Renames = {}): Promise<string> {
  const file = new Uint8Array(bytes).buffer;
  const compressors = { ZSTD: unpacked(zlib.zstdDecompressSync), GZIP: unpacked(zlib.gunzipSync) };
  const rows = await parquetReadObjects({ file, compressors });
  const records = rows.map((row) => {
    const cells = Object.entries(row).flatMap(([name, value]) => {
      const renamed = Object.hasOwn(renames, name) ? renames[name] : name;
      return renamed === undefined ? [] : [`${JSON.stringify(renamed)}:${jsonValue(value)}`];
    });
    return `{${cells.join(",")}}`;
  });
  return `[${records.join(",")}]`;
}

function unpacked(inflate: (bytes: Uint8Array) => Uint8Array) {
  return (bytes: Uint8Array) => new Uint8Array(inflate(bytes));
}

function jsonValue(value: unknown): string {
  if (value === null || value === undefined) return "null";
  if (value instanceof Date) return JSON.stringify(value.toISOString());
  if (typeof value === "number") {
    if (!Number.isFinite(value)) return "NaN";
    return Object.is(value, -0) ? "-0" : String(value);
  }
  return typeof value === "bigint" ? String(value) : JSON.stringify(value);
}
