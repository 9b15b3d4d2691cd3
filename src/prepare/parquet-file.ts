import { tmpdir } from "node:os";
import { openBlob } from "../blob/open-blob.ts";
import { DEFAULT_BLOB_LIMITS } from "../contract/blob-limits.ts";
import type {
  ByteSource,
  RequestedWindow,
  TickerFeatures,
  TickerPrices,
} from "../contract/market/ticker-series.ts";
import { MAGIC } from "../ingest/parquet.ts";
import { type ReadOptions, readBlob } from "../ingest/read-blob.ts";
import { readPrices } from "../ingest/read-prices.ts";
import type { FileLimits } from "./file-limits.ts";

/** Whether a local file, perhaps gzipped, begins like a Parquet table. */
export async function isParquetFile(path: string, signal: AbortSignal | undefined): Promise<boolean> {
  const blob = await openBlob(path, { allowed: [] }, signal ? { signal } : {});
  let head = Buffer.alloc(0);
  for await (const chunk of blob.chunks) {
    head = Buffer.concat([head, chunk]);
    if (head.length >= MAGIC.length) break;
  }
  return head.toString("latin1", 0, MAGIC.length) === MAGIC;
}

export async function readPriceParquet(
  path: string,
  signal?: AbortSignal,
  limits: FileLimits = {},
): Promise<{ readonly tickers: readonly TickerPrices[]; readonly window: RequestedWindow }> {
  const blob = await readPrices(await sourceAt(path, signal, limits), readOptions(signal, limits));
  const tickers = blob.tickers.map((name) => {
    const { ticker, days, prices } = blob.load(name);
    const isPresent = (_: number, i: number) => !Number.isNaN(prices[i]!);
    return { ticker, days: days.filter(isPresent), prices: prices.filter(isPresent) };
  });
  return { tickers, window: blob.window };
}

/** Reads a local Parquet table of features, by the rules of a job. */
export async function readFeatureParquet(
  path: string,
  signal?: AbortSignal,
  limits: FileLimits = {},
): Promise<TickerFeatures[]> {
  const series: TickerFeatures[] = [];
  const source = await sourceAt(path, signal, limits);
  for await (const each of readBlob("features", source, readOptions(signal, limits))) series.push(each);
  return series;
}

async function sourceAt(
  path: string,
  signal: AbortSignal | undefined,
  { csvBytes, onBytes }: FileLimits,
): Promise<ByteSource> {
  const limits = csvBytes === undefined ? {} : { limits: { maxBytes: csvBytes } };
  const { chunks } = await openBlob(path, { allowed: [] }, { ...(signal ? { signal } : {}), ...limits });
  return { name: path, chunks: onBytes === undefined ? chunks : observed(chunks, onBytes) };
}

async function* observed(
  chunks: AsyncIterable<Uint8Array>,
  onBytes: (count: number) => void,
): AsyncGenerator<Uint8Array> {
  for await (const chunk of chunks) {
    onBytes(chunk.length);
    yield chunk;
  }
}

/** The fewest bytes of a value in a CSV: a digit and a comma. A limit of bytes counts for as many values of a table. */
const CSV_VALUE_BYTES = 2;

function readOptions(
  signal: AbortSignal | undefined,
  { csvBytes, tickers = DEFAULT_BLOB_LIMITS.tickers, ticker, zone }: FileLimits,
): ReadOptions {
  return {
    workFolder: tmpdir(),
    signal,
    limits: { ...DEFAULT_BLOB_LIMITS, tickers },
    ticker,
    zone,
    maxTableValues: csvBytes === undefined ? undefined : Math.floor(csvBytes / CSV_VALUE_BYTES),
  };
}
