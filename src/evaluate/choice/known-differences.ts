import { countKnown, type LossSeries, squaredExcess, type TestedTicker } from "./candidate-losses.ts";
import type { DatedDifference, Difference } from "./members.ts";
import { SeriesSums } from "./series-sums.ts";

/** Differences between candidates over all tickers, asked for more and more known dates: each date is added once per pair. */
export class CommonDifferences {
  readonly #excess: LossSeries["excess"];
  readonly #sums: SeriesSums;

  constructor(excess: LossSeries["excess"]) {
    this.#excess = excess;
    this.#sums = new SeriesSums(excess.length * (excess.length + 1));
  }

  /** The number of the first `known` dates on which a candidate has a value. */
  datesOf(candidate: number, known: number): number {
    const { length } = this.#excess;
    const own = this.#excess[candidate]!;
    return this.#upTo(length * length + candidate, known, (d) => own[d]!).dates;
  }

  /** The mean of a candidate's excess less that of another over the first `known` dates that have both. */
  of(candidate: number, other: number, known: number): DatedDifference {
    const [a, b] = [this.#excess[candidate]!, this.#excess[other]!];
    return this.#upTo(candidate * this.#excess.length + other, known, (d) => a[d]! - b[d]!);
  }

  #upTo(series: number, known: number, valueAt: (d: number) => number): DatedDifference {
    if (this.#sums.seen(series) > known) this.#sums.clear(series);
    for (let d = this.#sums.seen(series); d < known; d++) this.#sums.add(series, valueAt(d));
    return this.#sums.difference(series);
  }
}

/** Sums against more candidates than these are forgotten: the best candidate changes seldom, and mostly back. */
const MAX_BESTS = 2;

/** Differences between candidates over the rows of one ticker, for all tickers. */
export class TickerDifferences {
  readonly #tickers: readonly TestedTicker[];
  readonly #candidates: number;
  /** By the candidate that the others are compared with, the one that was asked for last at the end. */
  readonly #byBest = new Map<number, SeriesSums>();

  constructor(tickers: readonly TestedTicker[], candidates: number) {
    this.#tickers = tickers;
    this.#candidates = candidates;
  }

  /**
   * One per ticker: the mean of a candidate's loss less that of `best` over the rows that both forecast and whose label date is at or before
   * `known`; undefined for a ticker with fewer than `least` of them or without a unit.
   */
  of(candidate: number, best: number, known: number, least: number): (Difference | undefined)[] {
    const sums = this.#sumsOf(best);
    return this.#tickers.map(({ unit, labelDays, realised, predicted }, i) => {
      if (!(unit > 0) || candidate === best) return undefined;
      const series = i * this.#candidates + candidate;
      const end = countKnown(labelDays, known);
      if (sums.seen(series) > end) sums.clear(series);
      const [own, other] = [predicted[candidate]!, predicted[best]!];
      for (let row = sums.seen(series); row < end; row++) {
        sums.add(series, squaredExcess(realised[row]!, own[row]!, other[row]!) / unit);
      }
      const difference = sums.difference(series);
      return difference.dates < least ? undefined : difference;
    });
  }

  #sumsOf(best: number): SeriesSums {
    const sums = this.#byBest.get(best) ?? new SeriesSums(this.#tickers.length * this.#candidates);
    this.#byBest.delete(best);
    this.#byBest.set(best, sums);
    const [oldest] = this.#byBest.keys();
    if (this.#byBest.size > MAX_BESTS) this.#byBest.delete(oldest!);
    return sums;
  }
}
