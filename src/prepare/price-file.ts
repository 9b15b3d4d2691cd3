import type { Day } from "../contract/market/dates.ts";
import type { RequestedWindow, TickerPrices } from "../contract/market/ticker-series.ts";
import { emptyTable } from "./csv/csv-rows.ts";
import { readPriceCsv } from "./csv/read-price-csv.ts";
import type { FileLimits } from "./file-limits.ts";
import { isParquetFile, readPriceParquet } from "./parquet/read-tables.ts";

export interface PricedTickers {
  /** Every ticker that has a price, in code point order. Days ascend; zero and negative prices are kept. */
  readonly tickers: readonly TickerPrices[];
  readonly unpriced: readonly string[];
  /** In the metadata of a Parquet table. */
  readonly window: RequestedWindow;
  /** The first line of a CSV with a date. */
  readonly lineOf?: (day: Day) => number | undefined;
}

/**
 * Reads a price CSV, wide or long, or a Parquet table of prices.
 * @throws MucastError of readPriceCsv and readPriceParquet; invalid_data for a file without any price.
 */
export async function readPriceFile(
  path: string,
  signal: AbortSignal | undefined,
  limits: FileLimits = {},
): Promise<PricedTickers> {
  if (!(await isParquetFile(path, signal)))
    return { ...(await readPriceCsv(path, signal, limits)), window: {} };
  const { tickers, window } = await readPriceParquet(path, signal, limits);
  const [priced, unpriced] = [
    tickers.filter(({ days }) => days.length > 0),
    tickers.filter(({ days }) => days.length === 0),
  ];
  if (priced.length === 0) throw emptyTable(path, "contains no price");
  return { tickers: priced, unpriced: unpriced.map(({ ticker }) => ticker), window };
}
