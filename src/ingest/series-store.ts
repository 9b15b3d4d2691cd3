import type { TickerSeries } from "../contract/market/ticker-series.ts";
import type { BlockSpan, BlockStore } from "./block-store.ts";

interface StoredSeries {
  readonly columns: readonly string[];
  readonly days: BlockSpan;
  readonly values: BlockSpan;
}

/** The series of many tickers by name, each stored until it is taken; their days and values are in a block store. */
export class SeriesStore {
  readonly #store: BlockStore;
  readonly #tickers = new Map<string, StoredSeries>();
  #lastColumns: readonly string[] = [];

  /** @param store may also contain other series; the caller closes it. */
  constructor(store: BlockStore) {
    this.#store = store;
  }

  /** Stores a copy. @throws MucastError output_failed if the disk is full. */
  add({ ticker, columns, days, values }: TickerSeries): void {
    // Nearly all tickers have the same columns.
    if (!isEqual(columns, this.#lastColumns)) this.#lastColumns = [...columns];
    this.#tickers.set(ticker, {
      columns: this.#lastColumns,
      days: this.#store.append(Float64Array.from(days)),
      values: this.#store.append(values),
    });
  }

  /** @returns the series of a ticker and removes it; undefined if there is none. */
  take(ticker: string): TickerSeries | undefined {
    const stored = this.#tickers.get(ticker);
    if (stored === undefined) return undefined;
    this.#tickers.delete(ticker);
    const days = new Float64Array(stored.days.length);
    const values = new Float64Array(stored.values.length);
    this.#store.read(stored.days, 0, days);
    this.#store.read(stored.values, 0, values);
    return { ticker, columns: stored.columns, days: Int32Array.from(days), values };
  }

  /** Tickers whose series are stored, in the order in which they were added. */
  tickers(): string[] {
    return [...this.#tickers.keys()];
  }
}

function isEqual(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((name, i) => name === b[i]);
}
