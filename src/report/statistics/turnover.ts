import { atOnce } from "../../contract/machine/pausable.ts";
import { LEAST_TICKERS } from "../../evaluate/cross-section.ts";
import type { DatedForecasts } from "../../evaluate/forecast-rows.ts";
import { averageRanks } from "../../evaluate/rank.ts";
import { eachDate, sortedByDate } from "../../evaluate/rows-by-date.ts";
import { correlation } from "../../evaluate/statistics.ts";
import { quantilesOf } from "./quantile-returns.ts";

/** How much of an order stays from one date to the next: shape (n) each, of dates that have such a figure. */
export interface Turnover {
  readonly days: Int32Array;
  /** Spearman correlation of the forecasts with those of the date before, over the tickers of both. */
  readonly autocorrelation: Float64Array;
  /** Mean share of the top quantile that was on the date before, but not in its top quantile; NaN without such a date. */
  readonly topReplaced: number;
}

/** @param rows tickers in any order, labelled or not; `count` quantiles. */
export function turnover(rows: readonly Omit<DatedForecasts, "realised">[], count: number): Turnover {
  const days: number[] = [];
  const values: number[] = [];
  const replaced: number[] = [];
  let before: Map<number, Forecast> | undefined;
  for (const { day, predicted, realised: tickers } of eachDate(atOnce(sortedByDate(numbered(rows))))) {
    const now = forecastsOf(tickers, predicted, count);
    if (before !== undefined) {
      const found = rankCorrelation(before, now);
      if (found !== undefined) {
        days.push(day);
        values.push(found);
      }
      const share = replacedShare(before, now, count - 1);
      if (share !== undefined) replaced.push(share);
    }
    before = now;
  }
  return {
    days: Int32Array.from(days),
    autocorrelation: Float64Array.from(values),
    topReplaced: replaced.reduce((sum, share) => sum + share, 0) / replaced.length,
  };
}

interface Forecast {
  readonly predicted: number;
  readonly quantile: number;
}

/** With the number of the ticker in place of the label. */
function numbered(rows: readonly Omit<DatedForecasts, "realised">[]): DatedForecasts[] {
  return rows.map((row, number) => ({ ...row, realised: new Float64Array(row.days.length).fill(number) }));
}

function forecastsOf(tickers: Float64Array, predicted: Float64Array, count: number): Map<number, Forecast> {
  const quantiles = quantilesOf(predicted, count);
  return new Map(
    Array.from(tickers, (ticker, i) => [ticker, { predicted: predicted[i]!, quantile: quantiles[i]! }]),
  );
}

function rankCorrelation(
  before: ReadonlyMap<number, Forecast>,
  now: ReadonlyMap<number, Forecast>,
): number | undefined {
  const both = [...now].filter(([ticker]) => before.has(ticker));
  if (both.length < LEAST_TICKERS) return undefined;
  const earlier = Float64Array.from(both, ([ticker]) => before.get(ticker)!.predicted);
  const later = Float64Array.from(both, ([, { predicted }]) => predicted);
  return correlation(averageRanks(earlier), averageRanks(later)) ?? undefined;
}

function replacedShare(
  before: ReadonlyMap<number, Forecast>,
  now: ReadonlyMap<number, Forecast>,
  top: number,
): number | undefined {
  const held = [...now].filter(([ticker, { quantile }]) => quantile === top && before.has(ticker));
  if (held.length === 0) return undefined;
  return held.filter(([ticker]) => before.get(ticker)!.quantile !== top).length / held.length;
}
