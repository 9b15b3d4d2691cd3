import { NEWEY_WEST_LAG } from "../newey-west.ts";
import type { DatedDifference } from "./members.ts";

/** Members of a series in the array: counts and sums, products of values 0 to LAG steps apart, and its first and last values. */
const LAG = NEWEY_WEST_LAG;
const [SEEN, COUNT, SHIFT, SUM, PRODUCTS] = [0, 1, 2, 3, 4];
const FIRST = PRODUCTS + LAG + 1;
const LAST = FIRST + LAG;
const WIDTH = LAST + LAG;

/**
 * Sums over several series that grow, from which the mean and the Newey-West error of each follow without another pass. They agree with
 * `mean` and `neweyWestError` to rounding: values are taken relative to the first one, so that a series with little variance keeps its
 * digits, and one of equal values has no error.
 */
export class SeriesSums {
  readonly #sums: Float64Array;

  constructor(series: number) {
    this.#sums = new Float64Array(series * WIDTH);
  }

  /** The number of values added to a series, NaN included. */
  seen(series: number): number {
    return this.#sums[series * WIDTH + SEEN]!;
  }

  /** Starts a series again. */
  clear(series: number): void {
    this.#sums.fill(0, series * WIDTH, (series + 1) * WIDTH);
  }

  /** Appends the next value; NaN does not count. */
  add(series: number, value: number): void {
    const sums = this.#sums;
    const at = series * WIDTH;
    sums[at + SEEN]! += 1;
    if (Number.isNaN(value)) return;
    const count = sums[at + COUNT]!;
    if (count === 0) sums[at + SHIFT] = value;
    const own = value - sums[at + SHIFT]!;
    sums[at + SUM]! += own;
    sums[at + PRODUCTS]! += own * own;
    for (let j = 1; j <= Math.min(LAG, count); j++) {
      sums[at + PRODUCTS + j]! += own * sums[at + LAST + j - 1]!;
    }
    if (count < LAG) sums[at + FIRST + count] = own;
    for (let j = LAG - 1; j > 0; j--) sums[at + LAST + j] = sums[at + LAST + j - 1]!;
    sums[at + LAST] = own;
    sums[at + COUNT] = count + 1;
  }

  /** The mean of the values so far, and its Newey-West error. */
  difference(series: number): DatedDifference {
    const at = series * WIDTH;
    const dates = this.#sums[at + COUNT]!;
    if (dates === 0) return { mean: Number.NaN, error: 0, dates };
    const own = this.#sums[at + SUM]! / dates;
    const variance = dates < 2 ? 0 : this.#variance(at, dates, own);
    const error = variance > 0 ? Math.sqrt(variance / dates) : 0;
    return { mean: this.#sums[at + SHIFT]! + own, error, dates };
  }

  /**
   * The sum of the autocovariances: the products of deviations j apart sum to the products of the values, less the mean times the values
   * that have one j later and those that have one j earlier, plus n - j squared means.
   */
  #variance(at: number, count: number, mean: number): number {
    const sums = this.#sums;
    const total = sums[at + SUM]!;
    let variance = sums[at + PRODUCTS]! - count * mean * mean;
    let [first, last] = [0, 0];
    for (let j = 1; j <= Math.min(LAG, count - 1); j++) {
      first += sums[at + FIRST + j - 1]!;
      last += sums[at + LAST + j - 1]!;
      const products =
        sums[at + PRODUCTS + j]! - mean * (2 * total - first - last) + (count - j) * mean * mean;
      variance += 2 * (1 - j / (LAG + 1)) * products;
    }
    return variance / count;
  }
}
