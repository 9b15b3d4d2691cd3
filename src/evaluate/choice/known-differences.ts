import { countKnown, type LossSeries, squaredExcess, type TestedTicker } from "./candidate-losses.ts";
import type { DatedDifference, Difference } from "./members.ts";
import { SeriesSums } from "./series-sums.ts";

/** Differences between candidates over all tickers, asked for more and more known dates: each date is added once per pair. */
export class CommonDifferences {
  readonly #excess: LossSeries["excess"];
  /** Of the candidates' own values. */
  readonly #own: SeriesSums;
  /** By the candidate that is subtracted, the one that was asked for last at the end. */
  readonly #byOther = new Map<number, SeriesSums>();

  constructor(excess: LossSeries["excess"]) {
    this.#excess = excess;
    this.#own = new SeriesSums(excess.length);
  }

  /** The number of the first `known` dates on which a candidate has a value. */
  datesOf(candidate: number, known: number): number {
    const own = this.#excess[candidate]!;
    return upTo(this.#own, candidate, known, (d) => own[d]!).dates;
  }

  /** The mean of a candidate's excess less that of another over the first `known` dates that have both. */
  of(candidate: number, other: number, known: number): DatedDifference {
    const [a, b] = [this.#excess[candidate]!, this.#excess[other]!];
    const sums = latestSums(this.#byOther, other, this.#excess.length, MAX_OTHERS);
    return upTo(sums, candidate, known, (d) => a[d]! - b[d]!);
  }
}

function upTo(
  sums: SeriesSums,
  series: number,
  known: number,
  valueAt: (d: number) => number,
): DatedDifference {
  if (sums.seen(series) > known) sums.clear(series);
  for (let d = sums.seen(series); d < known; d++) sums.add(series, valueAt(d));
  return sums.difference(series);
}

/** The sums against a candidate; with more than `most`, those that were not asked for the longest are forgotten. */
function latestSums(
  byCandidate: Map<number, SeriesSums>,
  candidate: number,
  series: number,
  most: number,
): SeriesSums {
  const sums = byCandidate.get(candidate) ?? new SeriesSums(series);
  byCandidate.delete(candidate);
  byCandidate.set(candidate, sums);
  const [oldest] = byCandidate.keys();
  if (byCandidate.size > most) byCandidate.delete(oldest!);
  return sums;
}

/** As many as a job has candidates; another program's output may have thousands, and memory would grow with their square. */
const MAX_OTHERS = 100;

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
    const sums = latestSums(this.#byBest, best, this.#tickers.length * this.#candidates, MAX_BESTS);
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
}
