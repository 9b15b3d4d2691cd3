import { type ByteSource, compareCodePoints, type TickerPrices } from "../contract/market/ticker-series.ts";
import { invalid, quote } from "./faults.ts";
import { priceColumn, priceColumns } from "./field-names.ts";
import { type ReadOptions, readBlob } from "./read-blob.ts";
import { arePricesRowNumbers } from "./row-numbers.ts";

/** A data-extraction blob, read to its end. */
export type PriceBlob = Awaited<ReturnType<typeof readPrices>>;

/**
 * Reads a data-extraction blob into memory, at 8 bytes a price.
 * @throws MucastError unreadable_blob, invalid_data, too_large; output_failed if the work folder is full; and what the source throws.
 */
export async function readPrices(source: ByteSource, options: ReadOptions) {
  const fault = (what: string, advice?: string) => invalid({ source: source.name }, what, advice);
  const tickers = new Map<string, TickerPrices>();
  /** Whether the tickers have nothing but a price, as in a wide table. */
  let isWide = true;
  const steps = readBlob("prices", source, options);
  for (;;) {
    const step = await steps.next();
    if (step.done === true) {
      const names = [...tickers.keys()];
      if (isWide && priceColumns(names, undefined, fault).size < names.length)
        throw fault(`has several fields of a ticker, such as ${quote(names[0]!)}; keep one price of each`);
      return {
        /** The blob's own bounds; this does not check that start <= end. */
        window: step.value,
        /** In code point order. */
        tickers: names.sort(compareCodePoints),
        /** The prices of one of `tickers`. */
        load(ticker: string): TickerPrices {
          const prices = tickers.get(ticker);
          if (prices === undefined) throw new Error(`${source.name} has no ticker ${ticker}`);
          return prices;
        },
      };
    }
    const { ticker, days, columns, values } = step.value;
    const n = days.length;
    const column = n === 0 ? 0 : priceColumn(columns, fault);
    const prices = values.slice(column * n, (column + 1) * n);
    if (arePricesRowNumbers(ticker, prices)) continue;
    isWide &&= columns.length === 1 && columns[0] === "price";
    tickers.set(ticker, { ticker, days, prices });
  }
}
