import { atOnce } from "../../src/contract/machine/pausable.ts";
import { delayedOrders } from "../../src/evaluate/delayed-order.ts";
import type { ForecastRows } from "../../src/evaluate/forecast-rows.ts";
import { forecastTable, tableRows } from "../../src/evaluate/forecast-table.ts";
import { meanT } from "../../src/evaluate/mean-test.ts";
import { sortedByDate } from "../../src/evaluate/rows-by-date.ts";
import { finiteOrNull, mean } from "../../src/evaluate/statistics.ts";
import { quantileReturns } from "../../src/report/statistics/quantile-returns.ts";

const FIFTHS = 5;

/** Basis points of the traded amount, per side. */
export const COSTS_BP = [1, 5, 10] as const;

const BASIS_POINT = 1e-4;

/** How good forecasts are. Each t is the mean over dates divided by its error (`meanError`). */
export interface Score {
  readonly rows: number;
  /** The number of dates with an IC. */
  readonly dates: number;
  readonly ic: number | null;
  readonly icT: number | null;
  readonly rankIc: number | null;
  readonly rankIcT: number | null;
  readonly r2Zero: number | null;
  /** Against each ticker's mean return up to the cut. */
  readonly r2Mean: number | null;
  /** Basis points per day, simple returns: the fifth of a date's tickers with the highest forecasts minus that with the lowest. */
  readonly spread: number | null;
  readonly spreadT: number | null;
  /** Mean share of both fifths that was not in them on the previous date. */
  readonly turnover: number | null;
  /** Basis points per day, by COSTS_BP: the spread minus the cost of trading both ends. */
  readonly net: readonly (number | null)[];
}

/**
 * Scores forecasts with the product's own statistics.
 * @param rows labelled, tickers in any order.
 * @param isReturn whether forecasts are returns: for others, R² has no meaning.
 */
export function scoreForecasts(rows: readonly ForecastRows[], isReturn: boolean): Score {
  const layout = atOnce(tableRows(rows));
  const rankIcs: number[] = [];
  const ics: number[] = [];
  const onDate = (_: number, { ic, rankIc }: { ic: number; rankIc: number }) => {
    ics.push(ic);
    rankIcs.push(rankIc);
  };
  const { pooled, cross_section } = atOnce(forecastTable(layout, undefined, onDate));
  const { spread } = quantileReturns(atOnce(sortedByDate(layout.tickers)), FIFTHS);
  const order = atOnce(delayedOrders(layout.tickers, 0))[0]!;
  return {
    rows: pooled.n,
    dates: cross_section.dates,
    ic: cross_section.ic_mean,
    icT: meanT(Float64Array.from(ics)),
    rankIc: cross_section.rank_ic_mean,
    rankIcT: meanT(Float64Array.from(rankIcs)),
    r2Zero: isReturn ? pooled.r2_zero : null,
    r2Mean: isReturn ? pooled.r2_mean : null,
    spread: finiteOrNull(mean(spread.values) / BASIS_POINT),
    spreadT: meanT(spread.values),
    turnover: order.turnover,
    net: COSTS_BP.map((cost) => order[`net_${cost}bp`]),
  };
}
