import { MIN_ORDER_TICKERS } from "../contract/output/later-close.ts";
import { type MeanMethod, MIN_DATES, meanMethod, meanQuantile } from "../contract/output/test-quantile.ts";
import type { ForecastRows } from "./forecast-rows.ts";
import { dateT } from "./mean-test.ts";
import { averageRanks } from "./rank.ts";
import { type DateLayout, dateLayout, dateSums, datesWith, valuesByDate } from "./rows-by-date.ts";
import { correlation, finiteOrNull, isConstant, mean } from "./statistics.ts";
import { type OrderForm, signedReturns } from "./verdict/order.ts";

/** One-sided: chance alone exceeds the quantile once in twenty groups. */
const PROBABILITY = 0.95;

/** How much order forecasts lose without each group of features. */
interface PermutationImportance {
  readonly form: OrderForm;
  /** The number of dates. */
  readonly dates: number;
  /** The mean over dates with all features; null without dates. */
  readonly figure: number | null;
  /** The t that evidence needs; null if there are too few dates. */
  readonly quantile: number | null;
  readonly method: MeanMethod;
  /**
   * In the given order: `figure` minus the same with the features of the group shuffled, null without dates; and its t over dates, null if
   * that does not exist.
   */
  readonly groups: readonly { readonly loss: number | null; readonly t: number | null }[];
}

/**
 * Permutation importance (Breiman 2001, "Random Forests"; Fisher, Rudin and Dominici 2019) of groups of features for the order of forecasts:
 * the mean RankIC by date minus the mean with the forecasts of the same models with the group shuffled. The t is that of the mean of the
 * differences of each date. Dates count that have at least MIN_ORDER_TICKERS tickers; a date whose forecasts do not
 * differ has a RankIC of 0. With fewer than MIN_DATES such dates, the measure of a date is the order over time of `orderByDate`.
 * @param rows labelled, out of fold. @param permuted by group, then by ticker in the order of `rows`: the forecasts with the group shuffled.
 * @param shuffled the form for which the features were shuffled; by default, the form that the rows have.
 */
export function permutationImportance(
  rows: readonly ForecastRows[],
  permuted: readonly (readonly Float64Array[])[],
  shuffled?: OrderForm,
): PermutationImportance {
  const layout = dateLayout(rows);
  // As `orderByDate` decides it.
  const isAcross = [...datesWith(layout, MIN_ORDER_TICKERS)].length >= MIN_DATES;
  const form = shuffled ?? (isAcross ? "cross_section" : "time_series");
  const measure = form === "cross_section" ? acrossTickers(rows, layout) : overTime(rows, layout);
  const whole = measure(rows.map(({ predicted }) => predicted));
  return {
    form,
    dates: whole.length,
    figure: finiteOrNull(mean(whole)),
    quantile: whole.length < MIN_DATES ? null : meanQuantile(whole.length, PROBABILITY),
    method: meanMethod(whole.length),
    groups: permuted.map((forecasts) => {
      const own = measure(forecasts);
      const losses = whole.map((value, date) => value - own[date]!);
      return { loss: finiteOrNull(mean(losses)), t: finiteOrNull(dateT(losses, 1)) };
    }),
  };
}

/** The order of forecasts on each date that counts, ascending. */
type Measure = (forecasts: readonly Float64Array[]) => Float64Array;

function acrossTickers(rows: readonly ForecastRows[], layout: DateLayout): Measure {
  const labels = valuesByDate(
    layout,
    rows.map(({ realised }) => realised),
  );
  const dates = [...datesWith(layout, MIN_ORDER_TICKERS)]
    .map(({ from, to }) => ({ from, to, ranks: averageRanks(labels.subarray(from, to)) }))
    .filter(({ ranks }) => !isConstant(ranks));
  return (forecasts) => {
    const laid = valuesByDate(layout, forecasts);
    return Float64Array.from(
      dates,
      ({ from, to, ranks }) => correlation(averageRanks(laid.subarray(from, to)), ranks) ?? 0,
    );
  };
}

function overTime(rows: readonly ForecastRows[], layout: DateLayout): Measure {
  const sumsOf = (of: (value: number) => number, forecasts?: readonly Float64Array[]) =>
    dateSums(
      layout,
      rows.map((row, i) =>
        signedReturns(row, forecasts?.[i]).map((value) => (Number.isNaN(value) ? 0 : of(value))),
      ),
    );
  // Which rows count does not depend on the forecasts.
  const counts = sumsOf(() => 1);
  return (forecasts) =>
    sumsOf((value) => value, forecasts)
      .map((sum, date) => sum / counts[date]!)
      .filter((_, date) => counts[date]! > 0);
}
