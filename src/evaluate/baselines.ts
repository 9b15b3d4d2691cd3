import type { Pausable } from "../contract/machine/pausable.ts";
import type { ForecastRows } from "./forecast-rows.ts";
import { type ForecastTable, forecastTable } from "./forecast-table.ts";
import { mean } from "./statistics.ts";

/** The tables of one forecast: on the score rows and, where there are folds, out of fold. */
interface ForecastTables {
  readonly score: ForecastTable;
  readonly out_of_fold?: ForecastTable;
}

/** What any model has to beat, on the very rows of the model. */
export interface Baselines {
  /** Forecasts 0 everywhere. */
  readonly zero: ForecastTables;
  /** Forecasts the mean of the labels known for training. */
  readonly mean: ForecastTables;
}

/** @param outOfFold absent where a model has no folds. */
export function* baselines(
  score: readonly ForecastRows[],
  outOfFold?: readonly ForecastRows[],
): Pausable<Baselines> {
  const tables = function* (forecast: (rows: ForecastRows) => ForecastRows): Pausable<ForecastTables> {
    const table = yield* forecastTable(score.map(forecast));
    if (outOfFold === undefined) return { score: table };
    return { score: table, out_of_fold: yield* forecastTable(outOfFold.map(forecast)) };
  };
  return { zero: yield* tables(zeroForecast), mean: yield* tables(meanForecast) };
}

function zeroForecast(rows: ForecastRows): ForecastRows {
  return { ...rows, predicted: new Float64Array(rows.days.length) };
}

function meanForecast(rows: ForecastRows): ForecastRows {
  return { ...rows, predicted: rows.trainingMean };
}

/** A fold as positions in the fit rows: trains on [0, trainEnd), tests [testStart, testEnd). */
interface FoldRange {
  readonly trainEnd: number;
  readonly testStart: number;
  readonly testEnd: number;
}

/**
 * The historical mean known at each out-of-fold row: that of its fold's own training labels.
 * @param labels shape (n): labels of all fit rows, in date order.
 * @param folds in time order; the out-of-fold rows are their test ranges one after the other.
 * @returns shape (sum of the test ranges).
 */
export function outOfFoldMeans(labels: Float64Array, folds: readonly FoldRange[]): Float64Array {
  const rows = folds.reduce((sum, fold) => sum + fold.testEnd - fold.testStart, 0);
  const means = new Float64Array(rows);
  let at = 0;
  for (const { trainEnd, testStart, testEnd } of folds) {
    const to = at + testEnd - testStart;
    means.fill(mean(labels.subarray(0, trainEnd)), at, to);
    at = to;
  }
  return means;
}

/** The historical mean of the score rows: that of all fit labels, `count` times over. */
export function scoreMeans(labels: Float64Array, count: number): Float64Array {
  return new Float64Array(count).fill(mean(labels));
}
