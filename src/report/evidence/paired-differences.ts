import { MIN_DATES } from "../../contract/output/test-quantile.ts";
import { type ForecastRows, inTickerOrder } from "../../evaluate/forecast-rows.ts";
import { dateLayout, dateSums } from "../../evaluate/rows-by-date.ts";
import { mean, rootMeanSquare } from "../../evaluate/statistics.ts";
import { type OrderForm, orderByDate } from "../../evaluate/verdict/order.ts";
import { type Band, meanBand } from "../statistics/over-dates.ts";

/** How two outputs differ on the rows that both have: positive if the first is better. */
export interface PairedDifference {
  readonly measure: "order" | "squared error";
  /** Positions of the outputs. */
  readonly first: number;
  readonly second: number;
  /** The mean over dates of the difference of orders; for squared errors, the mean over rows in units of the mean squared label. */
  readonly gain: number;
  /** Null if all dates have the same difference, as for equal forecasts. */
  readonly band: Band | null;
}

export interface PairedDifferences {
  /** Dates with a row. */
  readonly dates: number;
  readonly form: OrderForm;
  /** None for fewer than MIN_DATES dates. */
  readonly pairs: readonly PairedDifference[];
}

/** Differences up to this share of the mean squared label are rounding. */
const ROUNDING = 1e-12;

/** @param outputs the same labelled rows, with the forecasts of each output. */
export function pairedDifferences(outputs: readonly (readonly ForecastRows[])[]): PairedDifferences {
  const losses = outputs.map(squaredErrors);
  const dates = losses[0]!.length;
  const orders = ordersOf(outputs);
  const { form } = orders;
  if (dates < MIN_DATES) return { dates, form, pairs: [] };
  const rows = outputs[0]!.reduce((sum, { days }) => sum + days.length, 0);
  const pairs = outputs.flatMap((_, first) =>
    outputs.slice(first + 1).flatMap((_, k): PairedDifference[] => {
      const second = first + 1 + k;
      const order = difference(orders.values[first]!, orders.values[second]!);
      // The mean over dates of sums over rows, as a mean over rows.
      const errors = difference(losses[second]!, losses[first]!).map((sum) => (sum * dates) / rows);
      return [
        { measure: "order", first, second, ...meanOf(order) },
        { measure: "squared error", first, second, ...meanOf(errors) },
      ];
    }),
  );
  return { dates, form, pairs };
}

function meanOf(values: Float64Array): Pick<PairedDifference, "gain" | "band"> {
  const isRounding = values.every((value) => Math.abs(value) <= ROUNDING);
  return { gain: mean(values), band: isRounding ? null : meanBand(values) };
}

function difference(a: Float64Array, b: Float64Array): Float64Array {
  return a.map((value, i) => value - b[i]!);
}

/**
 * How well each output orders returns, as the verdict measures it, on the dates on which any has an order: 0 where its own forecasts
 * do not differ.
 */
function ordersOf(outputs: readonly (readonly ForecastRows[])[]): {
  readonly form: OrderForm;
  readonly values: readonly Float64Array[];
} {
  const orders = outputs.map((rows) => orderByDate(rows));
  const days = [...new Set(orders.flatMap((order) => [...order.days]))].sort((a, b) => a - b);
  return {
    form: orders[0]!.form,
    values: orders.map((order) => {
      const own = new Map(Array.from(order.days, (day, i) => [day, order.values[i]!]));
      return Float64Array.from(days, (day) => own.get(day) ?? 0);
    }),
  };
}

/** By date, in units of each ticker's mean squared label, summed over the tickers. */
function squaredErrors(rows: readonly ForecastRows[]): Float64Array {
  const counted = inTickerOrder(rows).flatMap((row) => {
    const unit = row.realised.length === 0 ? 0 : rootMeanSquare(row.realised);
    return unit === 0 ? [] : [{ row, unit }];
  });
  const layout = dateLayout(counted.map(({ row }) => row));
  const errors = counted.map(({ row: { realised, predicted }, unit }) =>
    realised.map((y, i) => (y / unit - predicted[i]! / unit) ** 2),
  );
  return dateSums(layout, errors);
}
