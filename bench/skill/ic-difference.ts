import type { Day } from "../../src/contract/market/dates.ts";
import { crossSection, type DateCorrelations } from "../../src/evaluate/cross-section.ts";
import type { ForecastRows } from "../../src/evaluate/forecast-rows.ts";
import { tableRows } from "../../src/evaluate/forecast-table.ts";
import { meanT } from "../../src/evaluate/mean-test.ts";
import { sortedByDate } from "../../src/evaluate/rows-by-date.ts";
import { finiteOrNull, mean } from "../../src/evaluate/statistics.ts";

/** IC and RankIC of each date that has them, ascending. */
export type IcsByDate = ReadonlyMap<Day, DateCorrelations>;

/** What one set of forecasts gains over another on the same rows: means over dates of the differences of IC and RankIC. */
export interface IcDifference {
  /** Dates on which both have an IC. */
  readonly dates: number;
  readonly ic: number | null;
  /** The mean difference divided by its own error; null if the difference is the same on all dates. */
  readonly icT: number | null;
  readonly rankIc: number | null;
  readonly rankIcT: number | null;
}

/** @param rows labelled, tickers in any order. */
export function icsByDate(rows: readonly ForecastRows[]): IcsByDate {
  const ics = new Map<Day, DateCorrelations>();
  crossSection(sortedByDate(tableRows(rows)), (day, correlations) => ics.set(day, correlations));
  return ics;
}

/** Differences of daily ICs between two sets of forecasts. */
export function icDifference(ics: IcsByDate, than: IcsByDate): IcDifference {
  const days = [...ics.keys()].filter((day) => than.has(day));
  const differences = (of: (correlations: DateCorrelations) => number) =>
    Float64Array.from(days, (day) => of(ics.get(day)!) - of(than.get(day)!));
  const ic = differences((correlations) => correlations.ic);
  const rankIc = differences((correlations) => correlations.rankIc);
  return {
    dates: days.length,
    ic: finiteOrNull(mean(ic)),
    icT: meanT(ic),
    rankIc: finiteOrNull(mean(rankIc)),
    rankIcT: meanT(rankIc),
  };
}
