import { atOnce } from "../contract/machine/pausable.ts";
import { type DatedForecasts, inTickerOrder } from "./forecast-rows.ts";
import { dateLayout, valuesByDate } from "./rows-by-date.ts";
import { finiteOrNull, mean } from "./statistics.ts";

/** Forecasts of a ticker with the unit of its labels. */
export interface ScaledForecasts extends DatedForecasts {
  /** Standard deviation (ddof 0) of its fit labels. */
  readonly labelDeviation: number;
}

/** A mean of few forecasts says little: the values begin at this date, counted from 1. */
const FIRST_DATE = 6;

/** A forecast this close to the mean, as a share of the largest one, differs from it by rounding alone. */
const ROUNDING = 1e-12;

/** How well the forecasts of few tickers tell good dates from bad ones. */
interface OrderOverTime {
  readonly dates: number;
  readonly mean: number | null;
  readonly t: number | null;
}

/**
 * The order of few tickers over time, a sign test with recursive means (So and Shin 1999): v_d is the mean over tickers of
 * sign(p_id - mean of p_i up to d) y_id / deviation of the ticker's fit labels, and t = sum of v / sqrt(sum of v²).
 * @param rows labelled.
 */
export function orderOverTime(rows: readonly ScaledForecasts[]): OrderOverTime {
  const kept = inTickerOrder(rows).filter(({ labelDeviation }) => labelDeviation > 0);
  const terms = kept.map(({ predicted, realised, labelDeviation }) => {
    let [sum, largest] = [0, 0];
    return predicted.map((p, i) => {
      sum += p;
      largest = Math.max(largest, Math.abs(p));
      const above = p - sum / (i + 1);
      const sign = Math.abs(above) <= ROUNDING * largest ? 0 : Math.sign(above);
      return (sign * realised[i]!) / labelDeviation;
    });
  });
  const layout = atOnce(dateLayout(kept));
  const laid = atOnce(valuesByDate(layout, terms));
  const byDate: number[] = [];
  for (let d = 0; d + 1 < layout.starts.length; d++) {
    const [from, to] = [layout.starts[d]!, layout.starts[d + 1]!];
    if (to > from) byDate.push(mean(laid.subarray(from, to)));
  }
  const values = Float64Array.from(byDate.slice(FIRST_DATE - 1));
  const [sum, squares] = values.reduce(([s, q], v) => [s + v, q + v * v], [0, 0]);
  return {
    dates: values.length,
    mean: finiteOrNull(mean(values)),
    t: finiteOrNull(sum / Math.sqrt(squares)),
  };
}
