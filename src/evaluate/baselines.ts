import type { ForecastRows } from "./forecast-rows.ts";
import { forecastTable, tableRows } from "./forecast-table.ts";
import { mean } from "./statistics.ts";

export type SetTables = ReturnType<typeof setTables>;

/**
 * The tables of one set of rows: those of the model's own forecasts, and on the same rows those of the baselines, which forecast 0, or the
 * mean of the labels known for training.
 * @param rows tickers in any order, which does not change a byte of the tables.
 */
export function setTables(rows: readonly ForecastRows[]) {
  const tickers = tableRows(rows);
  return {
    model: forecastTable(tickers),
    zero: forecastTable(tickers, zeroForecast),
    mean: forecastTable(tickers, meanForecast),
  };
}

export function zeroForecast({ days }: ForecastRows): Float64Array {
  return new Float64Array(days.length);
}

export function meanForecast({ trainingMean }: ForecastRows): Float64Array {
  return trainingMean;
}

/** A fold as positions in the fit rows: trains on [trainStart, trainEnd), tests [testStart, testEnd). */
interface FoldRange {
  readonly trainStart: number;
  readonly trainEnd: number;
  readonly testStart: number;
  readonly testEnd: number;
}

/**
 * The historical mean known at each out-of-fold row: the mean of its fold's training labels.
 * @param labels shape (n): labels of all fit rows, in date order.
 * @param folds in time order; the out-of-fold rows are their test ranges one after the other.
 */
export function outOfFoldMeans(labels: Float64Array, folds: readonly FoldRange[]): Float64Array {
  const means = folds.map(({ trainStart, trainEnd, testStart, testEnd }) => [
    ...trainingMeans(labels.subarray(trainStart, trainEnd), testEnd - testStart),
  ]);
  return Float64Array.from(means.flat());
}

/** The mean of the training labels, once for each of the `count` forecast rows. */
export function trainingMeans(labels: Float64Array, count: number): Float64Array {
  return new Float64Array(count).fill(mean(labels));
}
