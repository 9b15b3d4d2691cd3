import type { TickerSeries } from "../../contract/market/ticker-series.ts";
import { BlockStore, SeriesStore } from "../../ingest/block-store.ts";

/** A ticker in the earlier day's blob, in today's, or in both. */
export interface TickerPair {
  readonly previous?: TickerSeries;
  readonly current?: TickerSeries;
}

/**
 * Reads two feature blobs side by side and pairs their tickers. If both have the same order, two tickers are in memory; a ticker that
 * waits for its other half is buffered in the work folder.
 * @param workFolder an existing private folder, in which no file remains.
 * @throws what reading either throws; MucastError output_failed if the work folder is full.
 */
export async function* tickerPairs(
  previous: AsyncIterable<TickerSeries>,
  current: AsyncIterable<TickerSeries>,
  workFolder: string,
): AsyncGenerator<TickerPair, void, void> {
  const store = new BlockStore(workFolder);
  // Tickers whose other half has not been read yet.
  const waiting = { previous: new SeriesStore(store), current: new SeriesStore(store) };
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
    for (const left of waiting.previous.tickers()) yield { previous: waiting.previous.take(left)! };
    for (const left of waiting.current.tickers()) yield { current: waiting.current.take(left)! };
  } finally {
    await Promise.all([before.return?.(), after.return?.()]);
    store.close();
  }
}
