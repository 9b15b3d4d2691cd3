import type { TickerSeries } from "../../contract/market/ticker-series.ts";

/** A ticker in the earlier day's blob, in today's, or in both. */
export interface TickerPair {
  readonly previous?: TickerSeries;
  readonly current?: TickerSeries;
}

/**
 * Reads two feature blobs side by side and pairs their tickers. If both have the same order, two tickers are in memory; in another
 * order, those that wait for their other half.
 * @throws what reading either throws.
 */
export async function* tickerPairs(
  previous: AsyncIterable<TickerSeries>,
  current: AsyncIterable<TickerSeries>,
): AsyncGenerator<TickerPair, void, void> {
  // Tickers whose other half has not been read yet.
  const waiting = { previous: new Map<string, TickerSeries>(), current: new Map<string, TickerSeries>() };
  const [before, after] = [previous[Symbol.asyncIterator](), current[Symbol.asyncIterator]()];
  try {
    for (;;) {
      const { value: old } = await before.next();
      const { value: recent } = await after.next();
      if (old === undefined && recent === undefined) break;
      if (old?.ticker === recent?.ticker) yield { previous: old!, current: recent! };
      else {
        if (old !== undefined) {
          const other = take(waiting.current, old.ticker);
          if (other === undefined) waiting.previous.set(old.ticker, old);
          else yield { previous: old, current: other };
        }
        if (recent !== undefined) {
          const other = take(waiting.previous, recent.ticker);
          if (other === undefined) waiting.current.set(recent.ticker, recent);
          else yield { previous: other, current: recent };
        }
      }
    }
    for (const left of waiting.previous.values()) yield { previous: left };
    for (const left of waiting.current.values()) yield { current: left };
  } finally {
    await Promise.all([before.return?.(), after.return?.()]);
  }
}

function take(waiting: Map<string, TickerSeries>, ticker: string): TickerSeries | undefined {
  const found = waiting.get(ticker);
  waiting.delete(ticker);
  return found;
}
