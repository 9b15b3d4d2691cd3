import type { CrossSection, Metrics } from "../contract/output/metrics-schemas.ts";
import { crossSection, type OnDate } from "./cross-section.ts";
import { asRanked, concatenate, type ForecastRows, inTickerOrder, labelled } from "./forecast-rows.ts";
import { type LabelsByDate, labelsByDate, valuesByDate } from "./rows-by-date.ts";
import {
  type CorrelationSide,
  correlationOf,
  correlationSide,
  finiteOrNull,
  isConstant,
  median,
  rootMeanSquare,
} from "./statistics.ts";

/** One table of the output's `metrics`. A Map because a plain object would move tickers such as `10`. */
export interface ForecastTable {
  readonly pooled: Metrics;
  /** Every given ticker, ascending by code point, including those without a labelled row. */
  readonly by_ticker: ReadonlyMap<string, Metrics>;
  readonly cross_section: CrossSection;
  /** Median of the tickers' r2_zero values that exist, because one volatile ticker can decide the pooled value. */
  readonly r2_zero_median: number | null;
}

/**
 * Metrics per ticker, over all rows together, and across tickers date by date. Each ticker is a unit of progress.
 * @param baseline for each ticker of `rows`: shape (its rows). The forecasts of a baseline instead of those of the rows.
 * @param onDate as in `crossSection`.
 */
export function forecastTable(
  rows: TableRows,
  baseline?: readonly Float64Array[],
  onDate?: OnDate,
): ForecastTable {
  const { tickers, realised, trainingMean, facts, byDate } = rows;
  const predicted = baseline ?? tickers.map((ticker) => ticker.predicted);
  const ranked = baseline ?? tickers.map((ticker) => asRanked(ticker).predicted);
  const whole = { predicted: concatenate(predicted), realised, trainingMean };
  const pooled = metrics(whole, facts);
  const cross_section = crossSection(byDate, valuesByDate(byDate.layout, ranked), onDate);
  const by_ticker = new Map<string, Metrics>();
  for (const [i, ticker] of tickers.entries()) {
    by_ticker.set(ticker.ticker, metrics({ ...ticker, predicted: predicted[i]! }));
  }
  const skills = [...by_ticker.values()].flatMap(({ r2_zero }) => r2_zero ?? []);
  return { pooled, by_ticker, cross_section, r2_zero_median: median(Float64Array.from(skills)) };
}

/** Labelled rows of all tickers, with what the tables of all their forecasts share. */
interface TableRows {
  /** Ascending by code point, including those without a labelled row. */
  readonly tickers: readonly ForecastRows[];
  /** Shape (n), for the concatenated rows of the tickers; `trainingMean` likewise. */
  readonly realised: Float64Array;
  readonly trainingMean: Float64Array;
  readonly facts: LabelFacts;
  readonly byDate: LabelsByDate;
}

/** Prepares rows for their tables. Rows without a label do not count. @param rows tickers in any order. */
export function tableRows(rows: readonly ForecastRows[]): TableRows {
  const tickers: ForecastRows[] = [];
  for (const ticker of inTickerOrder(rows)) {
    tickers.push(labelled(ticker));
  }
  const realised = concatenate(tickers.map((ticker) => ticker.realised));
  const trainingMean = concatenate(tickers.map((ticker) => ticker.trainingMean));
  const facts = labelFacts(realised);
  return { tickers, realised, trainingMean, facts, byDate: labelsByDate(tickers) };
}

/** Labelled rows of one ticker, one fold or all tickers, as parallel arrays of shape (n). */
interface LabelledForecasts {
  readonly predicted: Float64Array;
  /** All finite. */
  readonly realised: Float64Array;
  /** Each row's own training mean, so pooled rows keep their ticker's. */
  readonly trainingMean: Float64Array;
}

/** The part of the metrics that depends only on the labels. */
interface LabelFacts {
  readonly rootMeanSquare: number;
  readonly side: CorrelationSide | null;
}

/** @param realised shape (n), all finite. */
function labelFacts(realised: Float64Array): LabelFacts {
  return { rootMeanSquare: rootMeanSquare(realised), side: correlationSide(realised) };
}

/**
 * Metrics over the given rows; sums follow their order. Undefined metrics are null: everything for no rows, a hit rate without a signed
 * pair, an r2 whose benchmark makes no error, a correlation with a constant.
 * @param facts of these labels, if they are known.
 */
export function metrics(
  { predicted, realised, trainingMean }: LabelledForecasts,
  facts?: LabelFacts,
): Metrics {
  const n = realised.length;
  if (n === 0) {
    const signs = { hit_rate: null, up_share: null, hit_rate_se: null };
    return { n, rmse: null, mae: null, ...signs, r2_zero: null, r2_mean: null, correlation: null };
  }
  // One array for both kinds of errors.
  const errors = differences(realised, predicted, new Float64Array(n));
  const rmse = rootMeanSquare(errors);
  const mae = finiteOrNull(meanMagnitude(errors));
  const r2_mean = skill(rmse, rootMeanSquare(differences(realised, trainingMean, errors)));
  const signs = signAgreement(realised, predicted);
  const r2_zero = skill(rmse, facts?.rootMeanSquare ?? rootMeanSquare(realised));
  const correlation = correlationWith(realised, predicted, facts);
  return { n, rmse: finiteOrNull(rmse), mae, ...signs, r2_zero, r2_mean, correlation };
}

function correlationWith(
  realised: Float64Array,
  predicted: Float64Array,
  facts: LabelFacts | undefined,
): number | null {
  // A constant forecast, such as that of a baseline, is known without looking at the labels.
  if (isConstant(predicted)) return null;
  const labels = facts === undefined ? correlationSide(realised) : facts.side;
  return labels === null ? null : correlationOf(labels, correlationSide(predicted));
}

/** Writes y minus p. */
function differences(y: Float64Array, p: Float64Array, into: Float64Array): Float64Array {
  for (let i = 0; i < into.length; i++) into[i] = y[i]! - p[i]!;
  return into;
}

function meanMagnitude(values: Float64Array): number {
  let sum = 0;
  for (let i = 0; i < values.length; i++) sum += Math.abs(values[i]!);
  return sum / values.length;
}

/** An R² below this is the rounding of its two sums: forecasts equal to the benchmark have 0. */
const ROUNDING = 1e-12;

/** 1 - SSE / SSE of the benchmark; null if the benchmark makes no error, which would divide by 0. */
function skill(rmse: number, benchmarkRmse: number): number | null {
  const r2 = 1 - (rmse / benchmarkRmse) ** 2;
  return Math.abs(r2) < ROUNDING ? 0 : finiteOrNull(r2);
}

/** Over the rows in which neither side is 0; null without such a row. */
function signAgreement(
  realised: Float64Array,
  predicted: Float64Array,
): Pick<Metrics, "hit_rate" | "up_share" | "hit_rate_se"> {
  let signed = 0;
  let hits = 0;
  let ups = 0;
  for (let i = 0; i < realised.length; i++) {
    const y = realised[i]!;
    const p = predicted[i]!;
    if (y === 0 || p === 0) continue;
    signed++;
    if (y > 0) ups++;
    if (y > 0 === p > 0) hits++;
  }
  if (signed === 0) return { hit_rate: null, up_share: null, hit_rate_se: null };
  const rate = hits / signed;
  return { hit_rate: rate, up_share: ups / signed, hit_rate_se: Math.sqrt((rate * (1 - rate)) / signed) };
}
