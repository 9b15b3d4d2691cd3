import type { Pausable } from "../../contract/machine/pausable.ts";
import type { Day } from "../../contract/market/dates.ts";
import { MIN_ORDER_TICKERS } from "../../contract/output/order-name.ts";
import { asRanked, type ForecastRows, inTickerOrder } from "../forecast-rows.ts";
import { MIN_DATES } from "../newey-west.ts";
import { type DateLayout, dateLayout, valuesByDate } from "../rows-by-date.ts";
import { correlation, largestMagnitude, mean, rootMeanSquare, sampleDeviation } from "../statistics.ts";

/** How to measure an order: across the tickers of a date, or, with fewer than MIN_ORDER_TICKERS, over the dates of each ticker. */
export type OrderForm = "cross_section" | "time_series";

/** How well forecasts rank returns, date by date. */
export interface OrderByDate {
  readonly form: OrderForm;
  /** Shape (n), ascending: the dates that count. */
  readonly days: Int32Array;
  /** Shape (n): the IC of the date or, over time, the mean over its tickers of the products of standardised forecasts and labels. */
  readonly values: Float64Array;
}

/**
 * The order of forecasts by date. If MIN_DATES dates or more have MIN_ORDER_TICKERS labelled tickers, the Pearson correlation of forecast
 * and label across the tickers of each such date (the information coefficient, IC); dates with a constant side do not count. Otherwise the
 * product of forecast and label, each minus its ticker's mean and divided by its deviation: its mean over all rows is the pooled
 * correlation over time.
 * @param rows labelled, tickers in any order.
 * @param part of the forecasts; the model's own by default.
 */
export function* orderByDate(
  rows: readonly ForecastRows[],
  part: ForecastPart = "forecast",
): Pausable<OrderByDate> {
  const ordered = inTickerOrder(rows.map(asRanked));
  const layout = yield* dateLayout(ordered);
  const isAcross = datesOf(layout, MIN_ORDER_TICKERS).length >= MIN_DATES;
  return isAcross
    ? yield* acrossTickers(ordered, layout, PARTS[part])
    : yield* overTime(ordered, PARTS[part]);
}

/**
 * What to rank: the forecasts, the training means, or what the forecasts add to the means, which is the residual of a regression of the
 * former on the latter and a constant (the correlation is then semipartial), across the tickers of a date or over the dates of a ticker. A
 * model that has learned only the means adds nothing, whatever its factor.
 */
export type ForecastPart = "forecast" | "training_mean" | "beyond_mean";

/** @param means of the same tickers or dates. @returns shape of `forecasts`. */
type PartOf = (forecasts: Float64Array, means: Float64Array) => Float64Array;

const PARTS: Readonly<Record<ForecastPart, PartOf>> = {
  forecast: (forecasts) => forecasts,
  training_mean: (_, means) => means,
  beyond_mean: restOf,
};

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

/** Numbers of the dates with at least `tickers` rows. */
function datesOf({ starts }: DateLayout, tickers: number): number[] {
  const found: number[] = [];
  for (let d = 0; d + 1 < starts.length; d++) if (starts[d + 1]! - starts[d]! >= tickers) found.push(d);
  return found;
}

function* acrossTickers(
  rows: readonly ForecastRows[],
  layout: DateLayout,
  partOf: PartOf,
): Pausable<OrderByDate> {
  const forecasts = yield* valuesByDate(
    layout,
    rows.map(({ predicted }) => predicted),
  );
  const means = yield* valuesByDate(
    layout,
    rows.map(({ trainingMean }) => trainingMean),
  );
  const labels = yield* valuesByDate(
    layout,
    rows.map(({ realised }) => realised),
  );
  const [days, values]: [Day[], number[]] = [[], []];
  for (const d of datesOf(layout, MIN_ORDER_TICKERS)) {
    yield 0;
    const [from, to] = [layout.starts[d]!, layout.starts[d + 1]!];
    const part = partOf(forecasts.subarray(from, to), means.subarray(from, to));
    const ic = correlation(part, labels.subarray(from, to));
    if (ic === null) continue;
    days.push(layout.first + d);
    values.push(ic);
  }
  return { form: "cross_section", days: Int32Array.from(days), values: Float64Array.from(values) };
}

function* overTime(rows: readonly ForecastRows[], partOf: PartOf): Pausable<OrderByDate> {
  const kept: ForecastRows[] = [];
  const products: Float64Array[] = [];
  for (const row of rows) {
    yield 0;
    const forecasts = standardised(partOf(row.predicted, row.trainingMean));
    const labels = standardised(row.realised);
    if (forecasts === undefined || labels === undefined) continue;
    kept.push(row);
    products.push(forecasts.map((value, k) => value * labels[k]!));
  }
  const layout = yield* dateLayout(kept);
  const laid = yield* valuesByDate(layout, products);
  const dates = datesOf(layout, 1);
  const { first, starts } = layout;
  return {
    form: "time_series",
    days: Int32Array.from(dates, (d) => first + d),
    values: Float64Array.from(dates, (d) => mean(laid.subarray(starts[d]!, starts[d + 1]!))),
  };
}

/** Values minus their mean, divided by their deviation (ddof 1); undefined if they are constant. */
export function standardised(values: Float64Array): Float64Array | undefined {
  const deviation = sampleDeviation(values);
  if (!(deviation > 0)) return undefined;
  const centre = mean(values);
  return values.map((value) => (value - centre) / deviation);
}
