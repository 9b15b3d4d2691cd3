import type { TickerFeatures } from "../../contract/market/ticker-series.ts";
import { type BlockSpan, BlockStore } from "../../ingest/block-store.ts";

/** A ticker in the earlier day's blob, in today's, or in both. */
export interface TickerPair {
  readonly previous?: TickerFeatures;
  readonly current?: TickerFeatures;
}

/**
 * Reads two feature blobs side by side and pairs their tickers. Where both have the same order, two tickers are in memory;
 * a ticker that has to wait for its other half waits in the work folder.
 * @param workFolder an existing private folder, in which no file remains.
 * @throws what reading either throws; MucastError output_failed where the work folder is full.
 */
export async function* tickerPairs(
  previous: AsyncIterable<TickerFeatures>,
  current: AsyncIterable<TickerFeatures>,
  workFolder: string,
): AsyncGenerator<TickerPair, void, void> {
  const store = new BlockStore(workFolder);
  const waiting = { previous: new WaitingTickers(store), current: new WaitingTickers(store) };
  const [before, after] = [previous[Symbol.asyncIterator](), current[Symbol.asyncIterator]()];
  try {
    for (;;) {
      const { value: old } = await before.next();
      const { value: recent } = await after.next();
      if (old === undefined && recent === undefined) break;
      if (old?.ticker === recent?.ticker) yield { previous: old!, current: recent! };
      else {
        if (old !== undefined) {
          const other = waiting.current.take(old.ticker);
          if (other === undefined) waiting.previous.add(old);
          else yield { previous: old, current: other };
        }
        if (recent !== undefined) {
          const other = waiting.previous.take(recent.ticker);
          if (other === undefined) waiting.current.add(recent);
          else yield { previous: other, current: recent };
        }
      }
    }
    for (const left of waiting.previous.rest()) yield { previous: left };
    for (const left of waiting.current.rest()) yield { current: left };
  } finally {
    await Promise.all([before.return?.(), after.return?.()]);
    store.close();
  }
}

interface WaitingTicker {
  readonly columns: readonly string[];
  readonly days: BlockSpan;
  readonly values: BlockSpan;
}

/** Tickers of one blob whose other half has not come yet, by name. */
class WaitingTickers {
  readonly #store: BlockStore;
  readonly #tickers = new Map<string, WaitingTicker>();
  #lastColumns: readonly string[] = [];

  constructor(store: BlockStore) {
    this.#store = store;
  }

  add({ ticker, columns, days, values }: TickerFeatures): void {
    // Nearly all tickers have the same columns.
    if (!isEqual(columns, this.#lastColumns)) this.#lastColumns = columns;
    this.#tickers.set(ticker, {
      columns: this.#lastColumns,
      days: this.#store.append(Float64Array.from(days)),
      values: this.#store.append(values),
    });
  }

  /** @returns undefined where that ticker does not wait. */
  take(ticker: string): TickerFeatures | undefined {
    const waiting = this.#tickers.get(ticker);
    if (waiting === undefined) return undefined;
    this.#tickers.delete(ticker);
    const days = new Float64Array(waiting.days.length);
    const values = new Float64Array(waiting.values.length);
    this.#store.read(waiting.days, 0, days);
    this.#store.read(waiting.values, 0, values);
    return { ticker, columns: waiting.columns, days: Int32Array.from(days), values };
  }

  *rest(): Generator<TickerFeatures> {
    for (const ticker of [...this.#tickers.keys()]) yield this.take(ticker)!;
  }
}

function isEqual(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((name, i) => name === b[i]);
}
