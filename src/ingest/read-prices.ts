import {
  type ByteSource,
  compareCodePoints,
  type RequestedWindow,
  type TickerPrices,
  type TickerSeries,
} from "../contract/market/ticker-series.ts";
import { invalid, quote } from "./blob-errors.ts";
import { type BlockSpan, BlockStore } from "./block-store.ts";
import { priceColumn, priceColumns } from "./field-names.ts";
import { type ReadOptions, readBlob } from "./read-blob.ts";
import { isRowNumber } from "./row-numbers.ts";

/** A data-extraction blob, read to its end. */
export interface PriceBlob {
  /** The blob's own bounds; this does not check that start <= end. */
  readonly window: RequestedWindow;
  /** In code point order. */
  readonly tickers: readonly string[];
  /** The prices of one of `tickers`. Callers may load a ticker any number of times, in any order, until `close`. */
  load(ticker: string): TickerPrices;
  /** Frees the memory and closes the file in the work folder. */
  close(): void;
}

/**
 * Reads a data-extraction blob, in any of the layouts of docs/blobs.md. Prices beyond 64 MiB are kept in a file of the work folder.
 *
 * @throws MucastError `unreadable_blob` for bytes that are not JSON text, `invalid_data` for JSON without usable
 *   prices, `too_large` over a limit, `output_failed` if the work folder is full; and the errors of the
 *   source and of the signal.
 */
export async function readPrices(
  source: ByteSource,
  { workFolder, ...options }: ReadOptions,
): Promise<PriceBlob> {
  const store = new BlockStore(workFolder);
  try {
    const prices = new StoredPrices(store, source.name);
    const steps = readBlob("prices", source, store, options);
    for (;;) {
      const step = await steps.next();
      if (step.done === true) return prices.blob(step.value);
      prices.add(step.value);
    }
  } catch (error) {
    store.close();
    throw error;
  }
}

/** The positions of a ticker's days and prices in the store. Successive tickers with equal days share one block of days. */
interface StoredTicker {
  readonly days: BlockSpan;
  readonly prices: BlockSpan;
}

class StoredPrices {
  readonly #store: BlockStore;
  readonly #source: string;
  readonly #tickers = new Map<string, StoredTicker>();
  /** Whether the tickers have nothing but a price, as those of a table with a column per ticker. */
  #isWide = true;
  #lastDays: Int32Array = new Int32Array(0);
  #lastSpan: BlockSpan | undefined;

  constructor(store: BlockStore, source: string) {
    this.#store = store;
    this.#source = source;
  }

  add({ ticker, days, columns, values }: TickerSeries): void {
    const n = days.length;
    const column = n === 0 ? 0 : priceColumn(columns, this.#fault);
    this.#isWide &&= columns.length === 1 && columns[0] === "price";
    const prices = values.subarray(column * n, (column + 1) * n);
    if (isRowNumber(ticker, prices)) return;
    this.#tickers.set(ticker, { days: this.#storeDays(days), prices: this.#store.append(prices) });
  }

  blob(window: RequestedWindow): PriceBlob {
    const tickers = [...this.#tickers.keys()];
    if (this.#isWide && priceColumns(tickers, undefined, this.#fault).size < tickers.length)
      throw this.#fault(
        `has several fields of a ticker, such as ${quote(tickers[0]!)}; keep one price of each`,
      );
    return {
      window,
      tickers: tickers.sort(compareCodePoints),
      load: (ticker) => this.#load(ticker),
      close: () => this.#store.close(),
    };
  }

  readonly #fault = (what: string, advice?: string) =>
    invalid({ source: this.#source, offset: 0 }, what, advice);

  #storeDays(days: Int32Array): BlockSpan {
    const isSame = days.length === this.#lastDays.length && days.every((day, i) => day === this.#lastDays[i]);
    if (this.#lastSpan === undefined || !isSame) this.#lastSpan = this.#store.append(Float64Array.from(days));
    this.#lastDays = days;
    return this.#lastSpan;
  }

  #load(ticker: string): TickerPrices {
    const stored = this.#tickers.get(ticker);
    if (stored === undefined) throw new Error(`${this.#source} has no ticker ${ticker}`);
    const days = new Float64Array(stored.days.length);
    const prices = new Float64Array(stored.prices.length);
    this.#store.read(stored.days, 0, days);
    this.#store.read(stored.prices, 0, prices);
    return { ticker, days: Int32Array.from(days), prices };
  }
}
