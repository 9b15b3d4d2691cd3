import { averageRanks } from "./rank.ts";

/**
 * The quantile of each forecast of a date, from 0: floor(q (rank - 1/2) / n). Ties share their average rank and so their quantile.
 */
export function quantilesOf(predicted: Float64Array, count: number): Int32Array {
  return quantilesOfRanks(averageRanks(predicted), count);
}

/** @param ranks of all forecasts of a date, from 1, with ties averaged. */
export function quantilesOfRanks(ranks: Float64Array, count: number): Int32Array {
  const quantiles = new Int32Array(ranks.length);
  for (let i = 0; i < ranks.length; i++)
    quantiles[i] = Math.floor((count * (ranks[i]! - 0.5)) / ranks.length);
  return quantiles;
}

/** The tickers of one date, by number, ascending, with the quantiles of their forecasts: shape (n) each. */
export interface DateQuantiles {
  readonly tickers: Float64Array;
  readonly quantiles: Int32Array;
}

/**
 * The share of the tickers of a quantile that were in another one on the previous date. Tickers without a forecast then do not count.
 * @returns undefined if none counts.
 */
export function replacedShare(
  before: DateQuantiles,
  now: DateQuantiles,
  quantile: number,
): number | undefined {
  let [held, fresh] = [0, 0];
  for (let i = 0, j = 0; i < before.tickers.length && j < now.tickers.length; ) {
    const distance = before.tickers[i]! - now.tickers[j]!;
    if (distance === 0 && now.quantiles[j] === quantile) {
      held++;
      if (before.quantiles[i] !== quantile) fresh++;
    }
    if (distance <= 0) i++;
    if (distance >= 0) j++;
  }
  return held === 0 ? undefined : fresh / held;
}
