import { atOnce } from "../../contract/machine/pausable.ts";
import { type ForecastRows, inTickerOrder } from "../../evaluate/forecast-rows.ts";
import { dateLayout, dateSums } from "../../evaluate/rows-by-date.ts";
import { rootMeanSquare } from "../../evaluate/statistics.ts";
import { type OrderForm, orderByDate } from "../../evaluate/verdict/order.ts";
import { type SizeTerms, sizeTerms } from "../../evaluate/verdict/sizes.ts";

/** The series by which one of several outputs on the same rows is tested: shape (dates) each, the same dates for all. */
export interface ComparedSeries {
  /** How well it orders returns, as the verdict measures it; NaN on dates on which no output has an order. */
  readonly order: Float64Array;
  readonly form: OrderForm;
  /** Clark-West terms against zero and against the training mean. */
  readonly zero: SizeTerms;
  readonly mean: SizeTerms;
  /** Squared error in units of each ticker's mean squared label, summed over the tickers of the date. */
  readonly losses: Float64Array;
}

/**
 * The series of several outputs on the same labelled rows. If an output's forecasts of a date do not differ, its order is 0 where
 * another output has an order.
 */
export function comparedSeries(outputs: readonly (readonly ForecastRows[])[]): ComparedSeries[] {
  const orders = outputs.map((rows) => atOnce(orderByDate(rows)));
  const ordered = new Set(orders.flatMap(({ days }) => [...days]));
  return outputs.map((rows, k) => {
    const { days, zero, mean } = atOnce(sizeTerms(rows));
    const order = orders[k]!;
    const own = new Map(Array.from(order.days, (day, i) => [day, order.values[i]!]));
    return {
      order: Float64Array.from(days, (day) => own.get(day) ?? (ordered.has(day) ? 0 : Number.NaN)),
      form: order.form,
      zero,
      mean,
      losses: squaredErrors(rows),
    };
  });
}

function squaredErrors(rows: readonly ForecastRows[]): Float64Array {
  const counted = inTickerOrder(rows).flatMap((row) => {
    const unit = row.realised.length === 0 ? 0 : rootMeanSquare(row.realised);
    return unit === 0 ? [] : [{ row, unit }];
  });
  const layout = atOnce(dateLayout(counted.map(({ row }) => row)));
  const errors = counted.map(({ row: { realised, predicted }, unit }) =>
    realised.map((y, i) => (y / unit - predicted[i]! / unit) ** 2),
  );
  return atOnce(dateSums(layout, errors));
}
