import type { Pausable } from "../contract/machine/pausable.ts";
import { type DatedForecasts, inTickerOrder } from "./forecast-rows.ts";
import { neweyWestT } from "./newey-west.ts";
import { eachDate, sortedByDate } from "./rows-by-date.ts";
import { mean, rootMeanSquare } from "./statistics.ts";

/** The normal quantile of 0.95: gains that are 0 on average reach it once in twenty times, over few dates more often. */
export const SKILLED_T = 1.645;

/** How far forecasts were better than 0. */
export interface Skill {
  readonly dates: number;
  /** Null where the dates give none. */
  readonly t: number | null;
}

/**
 * Tests whether forecasts were better than 0, over all tickers at once: the t (Newey-West) of the date means of
 * (y² - (y - p)²) / mean y² of the ticker. Tickers of a date move together, so a date counts as one value.
 * @param rows that the models did not learn from, all labelled; tickers in any order. A ticker whose labels are all 0 does
 *   not count.
 */
export function* skillOf(rows: readonly DatedForecasts[]): Pausable<Skill> {
  const scaled: DatedForecasts[] = [];
  for (const row of inTickerOrder(rows)) {
    yield 0;
    const unit = rootMeanSquare(row.realised);
    if (!(unit > 0)) continue;
    const inUnits = (value: number) => value / unit;
    scaled.push({ ...row, realised: row.realised.map(inUnits), predicted: row.predicted.map(inUnits) });
  }
  const gains: number[] = [];
  for (const { realised, predicted } of eachDate(yield* sortedByDate(scaled))) {
    yield 0;
    gains.push(mean(realised.map((y, i) => predicted[i]! * (2 * y - predicted[i]!))));
  }
  return { dates: gains.length, t: neweyWestT(Float64Array.from(gains)) };
}
