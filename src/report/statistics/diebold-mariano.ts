import { LEAST_DATES, neweyWestT } from "../../evaluate/newey-west.ts";
import { eachDate, type RowsByDate } from "../../evaluate/rows-by-date.ts";
import { mean } from "../../evaluate/statistics.ts";
import { twoSidedP } from "./normal-distribution.ts";

/** The test of equal accuracy of two forecasts. */
export interface EqualAccuracy {
  readonly dates: number;
  /** Mean over dates of what the first forecast gains on the second. */
  readonly gain: number;
  /** Null of fewer than LEAST_DATES, or without a variance: of equal forecasts. */
  readonly t: number | null;
  readonly p: number | null;
}

/**
 * Diebold and Mariano (1995): the mean of the loss differential over its Newey-West error, with the normal distribution.
 * @param gains by date, in time order: the loss of the second forecast less that of the first.
 */
export function dieboldMariano(gains: Float64Array): EqualAccuracy {
  const t = gains.length < LEAST_DATES ? null : neweyWestT(gains);
  return { dates: gains.length, gain: mean(gains), t, p: t === null ? null : twoSidedP(t) };
}

/** The mean squared error over the tickers of each date, ascending. @param rows labelled. */
export function squaredErrors(rows: RowsByDate): Float64Array {
  return Float64Array.from(eachDate(rows), ({ predicted, realised }) =>
    mean(realised.map((y, i) => (y - predicted[i]!) ** 2)),
  );
}
