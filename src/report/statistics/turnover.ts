import { atOnce } from "../../contract/machine/pausable.ts";
import type { Day } from "../../contract/market/dates.ts";
import type { DatedForecasts } from "../../evaluate/forecast-rows.ts";
import { type DateQuantiles, quantilesOfRanks, replacedShare } from "../../evaluate/quantiles.ts";
import { averageRanks } from "../../evaluate/rank.ts";
import { eachDate, MIN_TICKERS, sortedByDate } from "../../evaluate/rows-by-date.ts";
import {
  type CorrelationSide,
  correlation,
  correlationOf,
  correlationSide,
} from "../../evaluate/statistics.ts";

/** How much of an order persists from one date to the next. */
export interface Turnover {
  /** Shape (n): dates that have an autocorrelation. */
  readonly days: Int32Array;
  /** Shape (n): Spearman correlation of the forecasts with those of the previous date, over the tickers of both. */
  readonly autocorrelation: Float64Array;
  readonly replaced: Replaced;
}

/**
 * The share of each end that had forecasts on the previous date but was not in that end then, for dates on which both ends have such
 * a share: shape (m) each.
 */
interface Replaced {
  readonly days: Int32Array;
  readonly top: Float64Array;
  readonly bottom: Float64Array;
}

/** @param rows tickers in any order, labelled or not; `count` quantiles. */
export function turnover(rows: readonly Omit<DatedForecasts, "realised">[], count: number): Turnover {
  const days: number[] = [];
  const values: number[] = [];
  const replaced: { day: Day; top: number; bottom: number }[] = [];
  let before: DateOrder | undefined;
  for (const { day, predicted, realised: tickers } of eachDate(atOnce(sortedByDate(numbered(rows))))) {
    const ranks = averageRanks(predicted);
    const side = correlationSide(ranks);
    const now = { tickers, predicted, side, quantiles: quantilesOfRanks(ranks, count) };
    if (before !== undefined) {
      const found = rankCorrelation(before, now);
      if (found !== undefined) {
        days.push(day);
        values.push(found);
      }
      const [top, bottom] = [replacedShare(before, now, count - 1), replacedShare(before, now, 0)];
      if (top !== undefined && bottom !== undefined) replaced.push({ day, top, bottom });
    }
    before = now;
  }
  return {
    days: Int32Array.from(days),
    autocorrelation: Float64Array.from(values),
    replaced: {
      days: Int32Array.from(replaced, ({ day }) => day),
      top: Float64Array.from(replaced, ({ top }) => top),
      bottom: Float64Array.from(replaced, ({ bottom }) => bottom),
    },
  };
}

/** The forecasts of one date: shape (n), by ticker number, ascending. */
interface DateOrder extends DateQuantiles {
  readonly predicted: Float64Array;
  /** The side of a correlation with their ranks. */
  readonly side: CorrelationSide | null;
}

/** With the ticker number in place of the label. */
function numbered(rows: readonly Omit<DatedForecasts, "realised">[]): DatedForecasts[] {
  return rows.map((row, number) => ({ ...row, realised: new Float64Array(row.days.length).fill(number) }));
}

function rankCorrelation(before: DateOrder, now: DateOrder): number | undefined {
  if (haveSameTickers(before, now)) {
    return now.tickers.length < MIN_TICKERS ? undefined : (correlationOf(before.side, now.side) ?? undefined);
  }
  const both = commonPlaces(before, now);
  if (both.length < MIN_TICKERS) return undefined;
  const earlier = Float64Array.from(both, ([i]) => before.predicted[i]!);
  const later = Float64Array.from(both, ([, j]) => now.predicted[j]!);
  return correlation(averageRanks(earlier), averageRanks(later)) ?? undefined;
}

function haveSameTickers(before: DateOrder, now: DateOrder): boolean {
  const { tickers } = now;
  if (tickers.length !== before.tickers.length) return false;
  for (let i = 0; i < tickers.length; i++) if (tickers[i] !== before.tickers[i]) return false;
  return true;
}

/** The positions of the tickers of both dates in each. */
function commonPlaces(before: DateOrder, now: DateOrder): (readonly [before: number, now: number])[] {
  const found: (readonly [number, number])[] = [];
  const places = new Map(Array.from(before.tickers, (ticker, i) => [ticker, i]));
  for (const [j, ticker] of now.tickers.entries()) {
    const i = places.get(ticker);
    if (i !== undefined) found.push([i, j]);
  }
  return found;
}
