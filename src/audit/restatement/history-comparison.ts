import type { TickerSeries } from "../../contract/market/ticker-series.ts";
import { CalendarTally } from "./calendar-tally.ts";
import { FeatureTally } from "./change-tally.ts";
import { compareTicker } from "./compare-ticker.ts";
import type { FactorStep } from "./rescaling.ts";
import type { TickerPair } from "./ticker-pairs.ts";

/** Compares an earlier day's blob with today's, ticker by ticker. Memory grows with tickers and features, not with values. */
export class HistoryComparison {
  readonly features = new Map<string, FeatureTally>();
  readonly calendar = new CalendarTally();
  /** Tickers that only one blob has. */
  readonly vanished: string[] = [];
  readonly appeared: string[] = [];
  /** Features that a ticker no longer has, with the number of such tickers. */
  readonly removed = new Map<string, number>();
  /** Features that are new for a ticker. */
  readonly added = new Set<string>();
  /** By ticker: factors of its first rescaled column. */
  readonly rescaled = new Map<string, readonly FactorStep[]>();
  tickers = 0;
  /** Pairs of a ticker and a feature. */
  columns = 0;
  values = 0;

  /** @returns nothing; the caller may drop both histories afterwards. */
  add({ previous, current }: TickerPair): void {
    const { ticker } = (previous ?? current)!;
    this.calendar.add(ticker, previous?.days, current?.days);
    if (current === undefined) this.vanished.push(ticker);
    else if (previous === undefined) this.appeared.push(ticker);
    else this.#compare(ticker, previous, current);
  }

  #compare(ticker: string, previous: TickerSeries, current: TickerSeries): void {
    const comparison = compareTicker(previous, current);
    this.tickers++;
    this.columns += comparison.columns;
    this.values += comparison.values;
    for (const name of comparison.removed) this.removed.set(name, (this.removed.get(name) ?? 0) + 1);
    for (const name of comparison.added) this.added.add(name);
    for (const change of comparison.changed) {
      this.#feature(change.column).add(ticker, change);
      const { rewriting } = change;
      if (rewriting?.kind === "rescaled" && !this.rescaled.has(ticker))
        this.rescaled.set(ticker, rewriting.steps);
    }
  }

  #feature(name: string): FeatureTally {
    let tally = this.features.get(name);
    if (tally === undefined) {
      tally = new FeatureTally();
      this.features.set(name, tally);
    }
    return tally;
  }
}
