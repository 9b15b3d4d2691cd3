import { atOnce } from "../../contract/machine/pausable.ts";
import { dateCorrelations } from "../../evaluate/cross-section.ts";
import type { DatedForecasts } from "../../evaluate/forecast-rows.ts";
import { eachDate, sortedByDate } from "../../evaluate/rows-by-date.ts";

/** IC and RankIC of each date that counts, ascending: shape (n) each. */
export interface DateSkill {
  readonly days: Int32Array;
  readonly ic: Float64Array;
  readonly rankIc: Float64Array;
  /** How many tickers the date has. */
  readonly tickers: Int32Array;
}

/** @param rows labelled rows, tickers in the order in which the sums of a date run. */
export function dateSkill(rows: readonly DatedForecasts[]): DateSkill {
  const found: { day: number; ic: number; rankIc: number; tickers: number }[] = [];
  for (const { day, predicted, realised } of eachDate(atOnce(sortedByDate(rows)))) {
    const both = dateCorrelations(predicted, realised);
    if (both !== undefined) found.push({ day, ...both, tickers: predicted.length });
  }
  return {
    days: Int32Array.from(found, ({ day }) => day),
    ic: Float64Array.from(found, ({ ic }) => ic),
    rankIc: Float64Array.from(found, ({ rankIc }) => rankIc),
    tickers: Int32Array.from(found, ({ tickers }) => tickers),
  };
}
