import { MIN_TICKERS } from "../../evaluate/cross-section.ts";
import { quantilesOf } from "../../evaluate/rank.ts";
import { eachDate, type RowsByDate } from "../../evaluate/rows-by-date.ts";
import { isConstant } from "../../evaluate/statistics.ts";

/** Mean forecast and return of one quantile on the dates on which it has a ticker, as simple returns: shape (n) each, by date. */
export interface QuantileDates {
  readonly predicted: Float64Array;
  readonly realised: Float64Array;
}

/** Tickers by the quantile of their forecast on each date, and the value of the order. */
export interface QuantileReturns {
  /** From the lowest forecasts to the highest. */
  readonly quantiles: readonly QuantileDates[];
  /** Dates on which both the lowest and the highest quantile have a ticker, with the difference of their mean simple returns. */
  readonly spread: { readonly days: Int32Array; readonly values: Float64Array };
}

/** Deciles for many tickers, fifths for ten or more, thirds for few. */
export function quantileCount(tickers: number): number {
  if (tickers >= 50) return 10;
  return tickers >= 10 ? 5 : 3;
}

/**
 * Realised return by forecast quantile, with equal weights for the tickers of a quantile (portfolio sorts, as in Fama and French
 * 1993). Returns of tickers add up to the return of a portfolio as simple returns, exp(label) - 1, not as log-returns. Dates with
 * fewer than MIN_TICKERS tickers, or with equal forecasts, do not count.
 * @param rows labelled, log-returns.
 */
export function quantileReturns(rows: RowsByDate, count: number): QuantileReturns {
  const quantiles = Array.from({ length: count }, () => ({
    predicted: [] as number[],
    realised: [] as number[],
  }));
  const days: number[] = [];
  const spread: number[] = [];
  for (const { day, predicted, realised } of eachDate(rows)) {
    if (predicted.length < MIN_TICKERS || isConstant(predicted)) continue;
    const means = quantileMeans(predicted, realised, count);
    for (const [q, found] of means.entries()) {
      if (found === undefined) continue;
      quantiles[q]!.predicted.push(found.predicted);
      quantiles[q]!.realised.push(found.realised);
    }
    const [bottom, top] = [means[0], means[count - 1]];
    if (bottom === undefined || top === undefined) continue;
    days.push(day);
    spread.push(top.realised - bottom.realised);
  }
  return {
    quantiles: quantiles.map(({ predicted, realised }) => ({
      predicted: Float64Array.from(predicted),
      realised: Float64Array.from(realised),
    })),
    spread: { days: Int32Array.from(days), values: Float64Array.from(spread) },
  };
}

/** @returns undefined for a quantile without a ticker. */
function quantileMeans(predicted: Float64Array, realised: Float64Array, count: number) {
  const sums = Array.from({ length: count }, () => ({ n: 0, predicted: 0, realised: 0 }));
  const quantiles = quantilesOf(predicted, count);
  for (let i = 0; i < quantiles.length; i++) {
    const sum = sums[quantiles[i]!]!;
    sum.n++;
    sum.predicted += Math.expm1(predicted[i]!);
    sum.realised += Math.expm1(realised[i]!);
  }
  return sums.map((sum) =>
    sum.n === 0 ? undefined : { predicted: sum.predicted / sum.n, realised: sum.realised / sum.n },
  );
}
