import type { Pausable } from "../../contract/machine/pausable.ts";
import type { Day } from "../../contract/market/dates.ts";
import { type ForecastRows, inTickerOrder } from "../forecast-rows.ts";
import { LEAST_DATES } from "../newey-west.ts";
import { type DateLayout, dateLayout, laidByDate } from "../rows-by-date.ts";
import { correlation, mean, sampleDeviation } from "../statistics.ts";

/** Fewer tickers on a date hardly have an order. */
export const MIN_ORDER_TICKERS = 5;

/** How an order is measured: across the tickers of a date, or, with fewer than MIN_ORDER_TICKERS, over the dates of each ticker. */
export type OrderForm = "cross_section" | "time_series";

/** How well forecasts order returns, date by date. */
export interface OrderByDate {
  readonly form: OrderForm;
  /** Shape (n), ascending: the dates that count. */
  readonly days: Int32Array;
  /** Shape (n): the IC of the date or, as a time series, the mean over its tickers of the products of standardised forecasts and labels. */
  readonly values: Float64Array;
}

/**
 * The order of forecasts by date. Where LEAST_DATES dates or more have MIN_ORDER_TICKERS labelled tickers, the Pearson correlation of
 * forecast and label across the tickers of each such date (the information coefficient, IC); dates on which either side is constant do
 * not count. Otherwise the product of forecast and label, each less its ticker's mean and over its deviation: its mean over all rows is
 * the pooled correlation over time.
 * @param rows labelled, tickers in any order.
 * @param forecast of one ticker's rows; the model's own by default.
 */
export function* orderByDate(
  rows: readonly ForecastRows[],
  forecast: (rows: ForecastRows) => Float64Array = ({ predicted }) => predicted,
): Pausable<OrderByDate> {
  const ordered = inTickerOrder(rows);
  const layout = yield* dateLayout(ordered);
  const isAcross = datesOf(layout, MIN_ORDER_TICKERS).length >= LEAST_DATES;
  const predicted = ordered.map(forecast);
  return isAcross ? yield* acrossTickers(ordered, predicted, layout) : yield* overTime(ordered, predicted);
}

/** Numbers of the dates with at least `tickers` rows. */
function datesOf({ starts }: DateLayout, tickers: number): number[] {
  const found: number[] = [];
  for (let d = 0; d + 1 < starts.length; d++) if (starts[d + 1]! - starts[d]! >= tickers) found.push(d);
  return found;
}

function* acrossTickers(
  rows: readonly ForecastRows[],
  predicted: readonly Float64Array[],
  layout: DateLayout,
): Pausable<OrderByDate> {
  const forecasts = yield* laidByDate(layout, predicted);
  const labels = yield* laidByDate(
    layout,
    rows.map(({ realised }) => realised),
  );
  const [days, values]: [Day[], number[]] = [[], []];
  for (const d of datesOf(layout, MIN_ORDER_TICKERS)) {
    yield 0;
    const [from, to] = [layout.starts[d]!, layout.starts[d + 1]!];
    const ic = correlation(forecasts.subarray(from, to), labels.subarray(from, to));
    if (ic === null) continue;
    days.push(layout.first + d);
    values.push(ic);
  }
  return { form: "cross_section", days: Int32Array.from(days), values: Float64Array.from(values) };
}

function* overTime(rows: readonly ForecastRows[], predicted: readonly Float64Array[]): Pausable<OrderByDate> {
  const kept: ForecastRows[] = [];
  const products: Float64Array[] = [];
  for (const [i, row] of rows.entries()) {
    yield 0;
    const forecasts = standardised(predicted[i]!);
    const labels = standardised(row.realised);
    if (forecasts === undefined || labels === undefined) continue;
    kept.push(row);
    products.push(forecasts.map((value, k) => value * labels[k]!));
  }
  const layout = yield* dateLayout(kept);
  const laid = yield* laidByDate(layout, products);
  const dates = datesOf(layout, 1);
  const { first, starts } = layout;
  return {
    form: "time_series",
    days: Int32Array.from(dates, (d) => first + d),
    values: Float64Array.from(dates, (d) => mean(laid.subarray(starts[d]!, starts[d + 1]!))),
  };
}

/** Values less their mean, over their deviation (ddof 1); undefined where they are constant. */
function standardised(values: Float64Array): Float64Array | undefined {
  const deviation = sampleDeviation(values);
  if (!(deviation > 0)) return undefined;
  const centre = mean(values);
  return values.map((value) => (value - centre) / deviation);
}
