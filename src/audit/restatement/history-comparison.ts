import type { Day } from "../../contract/market/dates.ts";
import type { TickerSeries } from "../../contract/market/ticker-series.ts";
import { FeatureTally } from "./change-tally.ts";
import { ChangedDays, daysWithout } from "./common-days.ts";
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

/** First and last day of a blob, over all tickers. */
interface BlobSpan {
  first: Day;
  last: Day;
}

/** Rows that tickers lost or gained on days that both blobs cover. */
interface RowChanges {
  readonly rows: number;
  readonly tickers: readonly string[];
  readonly days: ChangedDays;
}

interface TickerDays {
  readonly ticker: string;
  readonly days: Int32Array;
  /** The last row of the ticker in the other history. */
  readonly otherLast: Day;
}

/**
 * Counts the rows that tickers lost and gained. Rows before the later of both first days, and after the previous blob's last one, do
 * not count: the window moved. These bounds are known only after every ticker, so the days that only one blob has are kept per ticker
 * until then; successive tickers with the same days share them.
 */
export class CalendarTally {
  readonly previous: BlobSpan = emptySpan();
  readonly current: BlobSpan = emptySpan();
  readonly #lost: TickerDays[] = [];
  readonly #added: TickerDays[] = [];

  /** @param previous, current days of one ticker, ascending; undefined if that blob lacks the ticker. */
  add(ticker: string, previous: Int32Array | undefined, current: Int32Array | undefined): void {
    if (previous !== undefined) widen(this.previous, previous);
    if (current !== undefined) widen(this.current, current);
    if (previous === undefined || current === undefined) return;
    keep(this.#lost, ticker, previous, current);
    keep(this.#added, ticker, current, previous);
  }

  /** Rows of the previous blob that the current one lacks. */
  lost(): RowChanges {
    return this.#within(this.#lost);
  }

  /** Rows that the previous blob lacked, on days that it covers. */
  added(): RowChanges {
    return this.#within(this.#added);
  }

  /** Of `added`, rows after the ticker's last one in the previous blob and within `days` of that blob's end. */
  addedLate(days: number): number {
    let rows = 0;
    for (const { days: added, otherLast } of this.#added)
      for (const day of added)
        if (day > otherLast && day <= this.previous.last && day > this.previous.last - days) rows++;
    return rows;
  }

  #within(kept: readonly TickerDays[]): RowChanges {
    const first = Math.max(this.previous.first, this.current.first);
    const last = Math.min(this.previous.last, this.current.last);
    const tickers: string[] = [];
    const found = new ChangedDays();
    let rows = 0;
    for (const { ticker, days } of kept) {
      const inside = days.filter((day) => day >= first && day <= last);
      if (inside.length > 0) tickers.push(ticker);
      rows += inside.length;
      for (const day of inside) found.add(day);
    }
    return { rows, tickers, days: found };
  }
}

function keep(kept: TickerDays[], ticker: string, days: Int32Array, others: Int32Array): void {
  const only = daysWithout(days, others);
  if (only.length === 0) return;
  const last = kept.at(-1)?.days;
  const isSame = last?.length === only.length && only.every((day, i) => day === last[i]);
  kept.push({ ticker, days: isSame ? last : only, otherLast: others.at(-1) ?? Number.NEGATIVE_INFINITY });
}

function emptySpan(): BlobSpan {
  return { first: Number.POSITIVE_INFINITY, last: Number.NEGATIVE_INFINITY };
}

function widen(span: BlobSpan, days: Int32Array): void {
  if (days.length === 0) return;
  span.first = Math.min(span.first, days[0]!);
  span.last = Math.max(span.last, days.at(-1)!);
}
