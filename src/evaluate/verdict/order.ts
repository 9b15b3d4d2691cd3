import type { Day } from "../../contract/market/dates.ts";
import { MIN_ORDER_TICKERS } from "../../contract/output/later-close.ts";
import { MIN_DATES } from "../../contract/output/test-quantile.ts";
import { asRanked, type ForecastRows, inTickerOrder, labelled } from "../forecast-rows.ts";
import { type DateLayout, dateLayout, datesWith, valuesByDate } from "../rows-by-date.ts";
import { correlation, deviation, largestMagnitude, mean, rootMeanSquare } from "../statistics.ts";

/** How to measure an order: across the tickers of a date, or, with fewer than MIN_ORDER_TICKERS, over the dates of each ticker. */
export type OrderForm = "cross_section" | "time_series";

/** How well forecasts rank returns, date by date. */
interface OrderByDate {
  readonly form: OrderForm;
  /** Shape (n), ascending: the dates that count. */
  readonly days: Int32Array;
  /** Shape (n): the IC of the date or, over time, the mean of the signed returns of its tickers. */
  readonly values: Float64Array;
}

/**
 * The order of forecasts by date. If MIN_DATES dates or more have MIN_ORDER_TICKERS labelled tickers, the Pearson correlation of forecast
 * and label across the tickers of each such date (the information coefficient, IC); dates with a constant side do not count. Otherwise the
 * mean over the tickers of each date of their `signedReturns`.
 * @param rows labelled, tickers in any order.
 * @param part of the forecasts, across tickers; the model's own by default.
 */
export function orderByDate(rows: readonly ForecastRows[], part: ForecastPart = "forecast"): OrderByDate {
  const ordered = inTickerOrder(rows.map(asRanked));
  const layout = dateLayout(ordered);
  const isAcross = [...datesWith(layout, MIN_ORDER_TICKERS)].length >= MIN_DATES;
  return isAcross ? acrossTickers(ordered, layout, part) : orderOverTime(ordered);
}

/**
 * What to rank: the forecasts, the training means, or what the forecasts add to the means, which is the residual of a regression of the
 * former on the latter and a constant (the correlation is then semipartial), across the tickers of a date. A model that has learned only the
 * means adds nothing, whatever its factor.
 */
type ForecastPart = "forecast" | "training_mean" | "beyond_mean";

/** A residual this small, in root mean squares of the values, is their rounding. */
const ROUNDING = 1e-6;

/** The residual of a regression of `values` on `others` and a constant; exactly 0 if nothing is left but rounding. */
function restOf(values: Float64Array, others: Float64Array): Float64Array {
  const [centre, otherCentre] = [mean(values), mean(others)];
  const size = largestMagnitude(others);
  let [products, squares] = [0, 0];
  for (let i = 0; i < values.length; i++) {
    const other = (others[i]! - otherCentre) / size;
    products += (values[i]! - centre) * other;
    squares += other * other;
  }
  const slope = squares > 0 ? products / squares / size : 0;
  const rest = values.map((value, i) => value - centre - slope * (others[i]! - otherCentre));
  return rootMeanSquare(rest) <= ROUNDING * rootMeanSquare(values) ? rest.fill(0) : rest;
}

function acrossTickers(rows: readonly ForecastRows[], layout: DateLayout, part: ForecastPart): OrderByDate {
  const laid = (of: (row: ForecastRows) => Float64Array) => valuesByDate(layout, rows.map(of));
  const ranked = laid(part === "training_mean" ? (row) => row.trainingMean : (row) => row.predicted);
  const means = laid(({ trainingMean }) => trainingMean);
  const labels = laid(({ realised }) => realised);
  const [days, values]: [Day[], number[]] = [[], []];
  for (const { day, from, to } of datesWith(layout, MIN_ORDER_TICKERS)) {
    const own = ranked.subarray(from, to);
    const compared = part === "beyond_mean" ? restOf(own, means.subarray(from, to)) : own;
    const ic = correlation(compared, labels.subarray(from, to));
    if (ic === null) continue;
    days.push(day);
    values.push(ic);
  }
  return { form: "cross_section", days: Int32Array.from(days), values: Float64Array.from(values) };
}

/** The order of few tickers: for each date, the mean over tickers of their signed returns. @param rows labelled, tickers ascending. */
export function orderOverTime(rows: readonly ForecastRows[]): OrderByDate {
  const signed = rows.map((row) => labelled({ days: row.days, realised: signedReturns(row) }));
  const layout = dateLayout(signed);
  const laid = valuesByDate(
    layout,
    signed.map(({ realised }) => realised),
  );
  const dates = [...datesWith(layout)];
  return {
    form: "time_series",
    days: Int32Array.from(dates, ({ day }) => day),
    values: Float64Array.from(dates, ({ from, to }) => mean(laid.subarray(from, to))),
  };
}

/** Rows of a ticker before the first signed return: a mean of fewer forecasts is mostly chance. */
const SKIPPED_ROWS = 5;

/**
 * The return on the side of each forecast, in deviations of the ticker's fit labels: sign(p - m) y / deviation, with m the mean of the
 * forecasts of the same model up to and including the row. So the level of forecasts is no order, and no later forecast is used: a sign test
 * with recursive means (So and Shin 1999, "Recursive mean adjustment in time-series inferences"). A model is where the training mean stays
 * the same. The mean starts anew with each model, because the levels of models follow past returns: with one mean over all of them,
 * forecasts without skill pass in up to 12 % of cases instead of 5 (4,000 simulated markets for each kind).
 * @param rows dates ascending, all labelled. @param forecasts shape (n), of the same rows.
 * @returns shape (n); NaN for the ticker's first SKIPPED_ROWS rows, for the first row of each model, and if the deviation is 0.
 */
export function signedReturns(rows: ForecastRows, forecasts = rows.predicted): Float64Array {
  const { realised, trainingMean, labelDeviation = deviation(realised) } = rows;
  let [centre, count] = [0, 0];
  return forecasts.map((p, i) => {
    if (isNewModel(trainingMean, i)) count = 0;
    count++;
    centre = count === 1 ? p : centre + (p - centre) / count;
    if (i < SKIPPED_ROWS || count === 1 || !(labelDeviation > 0)) return Number.NaN;
    const isSame = Math.abs(p - centre) <= ROUNDING * Math.abs(centre);
    return isSame ? 0 : (Math.sign(p - centre) * realised[i]!) / labelDeviation;
  });
}

/** Whether a row is the first of a model, which has another training mean than the model before it. */
export function isNewModel(trainingMean: Float64Array, row: number): boolean {
  return row === 0 || !Object.is(trainingMean[row], trainingMean[row - 1]);
}

/** The t of a sign test: without skill, signed returns have the mean 0, so none is subtracted. Null without a value that is not 0. */
export function signedReturnT(values: Float64Array): number | null {
  return values.every((value) => value === 0)
    ? null
    : (mean(values) * Math.sqrt(values.length)) / rootMeanSquare(values);
}
