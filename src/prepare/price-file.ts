import type { RequestedWindow } from "../contract/market/ticker-series.ts";
import { arePricesRowNumbers } from "../ingest/row-numbers.ts";
import { emptyTable } from "./csv/csv-rows.ts";
import { readPriceCsv } from "./csv/read-price-csv.ts";
import type { FileLimits } from "./file-limits.ts";
import { isParquetFile, readPriceParquet } from "./parquet-file.ts";

export async function readPriceFile(path: string, signal: AbortSignal | undefined, limits: FileLimits = {}) {
  if (!(await isParquetFile(path, signal))) {
    const { tickers, ...rest } = await readPriceCsv(path, signal, limits);
    const window: RequestedWindow = {};
    return { ...rest, tickers: tickers.filter((t) => !arePricesRowNumbers(t.ticker, t.prices)), window };
  }
  const { tickers, window } = await readPriceParquet(path, signal, limits);
  const [priced, unpriced] = [
    tickers.filter(({ days }) => days.length > 0),
    tickers.filter(({ days }) => days.length === 0),
  ];
  if (priced.length === 0) throw emptyTable(path, "contains no price");
  return { tickers: priced, unpriced: unpriced.map(({ ticker }) => ticker), window, lineOf: undefined };
}
