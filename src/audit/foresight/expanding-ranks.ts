import { averageRanks } from "../../evaluate/rank.ts";

/** A rank among fewer values says little. */
export const MIN_EARLIER = 20;

/** The deviation of a uniform distribution of width 1 is 1 / sqrt(12). */
const UNIFORM = Math.sqrt(12);

/**
 * The rank of each value among those of its own and earlier rows, ties averaged, scaled so that values in random order have mean 0
 * and variance 1. It uses nothing after its row: a rank in the whole sample correlates with later returns even for an honest price
 * level (Stambaugh 1999, "Predictive regressions").
 * @param x shape (r), NaN if missing.
 * @returns shape (r), NaN if x is missing or has fewer than MIN_EARLIER earlier values.
 */
export function expandingRanks(x: Float64Array): Float64Array {
  const present = x.filter(Number.isFinite);
  const places = averageRanks(present).map(Math.ceil);
  const counts = new CountsBelow(present.length);
  const equal = new Int32Array(present.length + 1);
  let seen = 0;
  return x.map((value) => {
    if (!Number.isFinite(value)) return Number.NaN;
    const place = places[seen++]!;
    const below = counts.add(place);
    const ties = ++equal[place]!;
    // `below` values are smaller, `ties` are equal, including this one.
    return seen > MIN_EARLIER ? UNIFORM * ((below + ties / 2) / seen - 0.5) : Number.NaN;
  });
}

/** Each value minus the mean of the earlier ones, so that a risen level does not correlate with a drift; 0 for the first one. */
export function lessEarlierMean(values: Float64Array): Float64Array {
  let [sum, n] = [0, 0];
  return values.map((value) => {
    if (Number.isNaN(value)) return value;
    const left = n === 0 ? 0 : value - sum / n;
    sum += value;
    n++;
    return left;
  });
}

/** A Fenwick tree (1994) over positions 1 to n: counts the values at lower positions. */
class CountsBelow {
  readonly #sums: Int32Array;

  constructor(n: number) {
    this.#sums = new Int32Array(n + 1);
  }

  /** Adds a value at a position. @returns the number of values at lower positions. */
  add(place: number): number {
    let below = 0;
    for (let i = place - 1; i > 0; i -= i & -i) below += this.#sums[i]!;
    for (let i = place; i < this.#sums.length; i += i & -i) this.#sums[i]!++;
    return below;
  }
}
