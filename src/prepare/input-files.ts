import { tmpdir } from "node:os";
import { openBlob } from "../blob/open-blob.ts";
import { DEFAULT_BLOB_LIMITS } from "../contract/blob-limits.ts";
import {
  type ByteSource,
  compareCodePoints,
  type RequestedWindow,
  type TickerPrices,
  type TickerSeries,
} from "../contract/market/ticker-series.ts";
import type { BlobKind } from "../ingest/field-names.ts";
import { MAGIC } from "../ingest/parquet.ts";
import { readBlob } from "../ingest/read-blob.ts";
import { arePricesRowNumbers } from "../ingest/row-numbers.ts";
import { type CsvOptions, type LineOf, readCsv } from "./csv.ts";
import { emptyTable } from "./csv-records.ts";

/** How a file of prices or of features is read. One more than a limit is too_large. */
export interface FileOptions extends CsvOptions {
  readonly signal?: AbortSignal | undefined;
  /** Maximum size, decompressed. A Parquet table may have as many values as a CSV of this size. */
  readonly csvBytes?: number | undefined;
  /** Called with the number of bytes of each part that was read, decompressed. */
  readonly onBytes?: ((count: number) => void) | undefined;
}

/**
 * Reads the tickers that have a price, in code point order, and the names of those that have none. Days ascend; missing prices are dropped,
 * zero and negative ones kept. A Parquet table may have a window in its metadata, and a CSV has the first line of each date.
 */
export async function readPriceFile(path: string, options: FileOptions = {}) {
  const { series, window, lineOf } = await readTable("prices", path, options);
  const found = series
    .map(({ ticker, days, values: prices }): TickerPrices => {
      const isPresent = (_: number, i: number) => !Number.isNaN(prices[i]!);
      return { ticker, days: days.filter(isPresent), prices: prices.filter(isPresent) };
    })
    .filter(({ ticker, prices }) => !arePricesRowNumbers(ticker, prices))
    .sort((a, b) => compareCodePoints(a.ticker, b.ticker));
  const { priced = [], unpriced = [] } = Object.groupBy(found, ({ days }) =>
    days.length > 0 ? "priced" : "unpriced",
  );
  if (priced.length === 0) throw emptyTable(path, "contains no price");
  return { tickers: priced, unpriced: unpriced.map(({ ticker }) => ticker), window, lineOf };
}

/** Reads a CSV or a Parquet table, either perhaps gzipped. */
export async function readTable(
  kind: BlobKind,
  path: string,
  options: FileOptions,
): Promise<{ series: TickerSeries[]; window: RequestedWindow; lineOf: LineOf | undefined }> {
  const { signal, csvBytes, tickers = DEFAULT_BLOB_LIMITS.tickers, ticker, zone } = options;
  if (!(await isParquetFile(path, signal)))
    return { window: {}, ...(await readCsv(kind, () => openFile(path, options), options)) };
  const steps = readBlob(kind, await openFile(path, options), {
    ...{ workFolder: tmpdir(), signal, ticker, zone, limits: { ...DEFAULT_BLOB_LIMITS, tickers } },
    maxTableValues: csvBytes === undefined ? undefined : Math.floor(csvBytes / CSV_VALUE_BYTES),
  });
  const series: TickerSeries[] = [];
  for (;;) {
    const step = await steps.next();
    if (step.done === true) return { series, window: step.value, lineOf: undefined };
    series.push(step.value);
  }
}

/** The fewest bytes of a value in a CSV: a digit and a comma. */
const CSV_VALUE_BYTES = 2;

/** Whether a local file, perhaps gzipped, begins like a Parquet table. */
export async function isParquetFile(path: string, signal: AbortSignal | undefined): Promise<boolean> {
  let head = Buffer.alloc(0);
  for await (const chunk of (await openFile(path, { signal })).chunks) {
    head = Buffer.concat([head, chunk]);
    if (head.length >= MAGIC.length) break;
  }
  return head.toString("latin1", 0, MAGIC.length) === MAGIC;
}

async function openFile(path: string, { signal, csvBytes, onBytes }: FileOptions): Promise<ByteSource> {
  const { chunks } = await openBlob(
    path,
    { allowed: [] },
    { ...(signal && { signal }), ...(csvBytes !== undefined && { limits: { maxBytes: csvBytes } }) },
  );
  async function* follow() {
    for await (const chunk of chunks) {
      onBytes?.(chunk.length);
      yield chunk;
    }
  }
  return { name: path, chunks: follow() };
}
