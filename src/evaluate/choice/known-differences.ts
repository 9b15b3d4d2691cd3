import type { LossSeries } from "./candidate-losses.ts";
import type { DatedDifference } from "./members.ts";
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
    const sums = latestSums(this.#byOther, other, this.#excess.length);
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

/** The sums against a candidate; with more than MAX_OTHERS, those that were not asked for the longest are forgotten. */
function latestSums(byCandidate: Map<number, SeriesSums>, candidate: number, series: number): SeriesSums {
  const sums = byCandidate.get(candidate) ?? new SeriesSums(series);
  byCandidate.delete(candidate);
  byCandidate.set(candidate, sums);
  const [oldest] = byCandidate.keys();
  if (byCandidate.size > MAX_OTHERS) byCandidate.delete(oldest!);
  return sums;
}

/** As many as a job has candidates; another program's output may have thousands, and memory would grow with their square. */
const MAX_OTHERS = 100;
