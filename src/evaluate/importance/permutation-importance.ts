import { MIN_ORDER_TICKERS } from "../../contract/output/later-close.ts";
import { type MeanMethod, MIN_DATES, meanMethod, meanQuantile } from "../../contract/output/test-quantile.ts";
import { crossSection } from "../cross-section.ts";
import type { ForecastRows } from "../forecast-rows.ts";
import { dateT } from "../mean-test.ts";
import {
  type DateLayout,
  dateSums,
  datesWith,
  type LabelsByDate,
  labelsByDate,
  valuesByDate,
} from "../rows-by-date.ts";
import { finiteOrNull, mean } from "../statistics.ts";
import { type OrderForm, signedReturns } from "../verdict/order.ts";

/** One-sided: chance alone exceeds the quantile once in twenty groups. */
const PROBABILITY = 0.95;

/** How much order forecasts lose without each group of features. */
export interface PermutationImportance {
  readonly form: OrderForm;
  /** The number of dates. */
  readonly dates: number;
  /** The mean over dates with all features; null without dates. */
  readonly figure: number | null;
  /** The t that evidence needs; null if there are too few dates. */
  readonly quantile: number | null;
  readonly method: MeanMethod;
  /** In the given order. */
  readonly groups: readonly GroupLoss[];
}

export interface GroupLoss {
  /** `figure` minus the same with the features of the group shuffled; null without dates. */
  readonly loss: number | null;
  /** The t of the loss over dates; null if it does not exist. */
  readonly t: number | null;
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
  const labels = labelsByDate(rows);
  // As `orderByDate` decides it.
  const isAcross = [...datesWith(labels.layout, MIN_ORDER_TICKERS)].length >= MIN_DATES;
  const form = shuffled ?? (isAcross ? "cross_section" : "time_series");
  const measure = form === "cross_section" ? acrossTickers(labels) : overTime(rows, labels.layout);
  const whole = measure(rows.map(({ predicted }) => predicted));
  const groups: GroupLoss[] = [];
  for (const forecasts of permuted) {
    const own = measure(forecasts);
    const losses = whole.map((value, date) => value - own[date]!);
    const t = dateT(losses, 1);
    groups.push({ loss: finiteOrNull(mean(losses)), t: t === null ? null : finiteOrNull(t) });
  }
  return {
    form,
    dates: whole.length,
    figure: finiteOrNull(mean(whole)),
    quantile: whole.length < MIN_DATES ? null : meanQuantile(whole.length, PROBABILITY),
    method: meanMethod(whole.length),
    groups,
  };
}

/** The order of forecasts on each date that counts, ascending. */
type Measure = (forecasts: readonly Float64Array[]) => Float64Array;

function acrossTickers(all: LabelsByDate): Measure {
  const labels = { ...all, dates: all.dates.filter(({ from, to }) => to - from >= MIN_ORDER_TICKERS) };
  return (forecasts) => {
    const byDay = new Map(labels.dates.map(({ day }) => [day, 0]));
    const laid = valuesByDate(labels.layout, forecasts);
    crossSection(labels, laid, (day, { rankIc }) => byDay.set(day, rankIc));
    return Float64Array.from(byDay.values());
  };
}

function overTime(rows: readonly ForecastRows[], layout: DateLayout): Measure {
  // Which rows count does not depend on the forecasts.
  const counts = dateSums(
    layout,
    rows.map((row) => signedReturns(row).map((value) => (Number.isNaN(value) ? 0 : 1))),
  );
  return (forecasts) => {
    const parts = rows.map((row, i) =>
      signedReturns(row, forecasts[i]!).map((value) => (Number.isNaN(value) ? 0 : value)),
    );
    const sums = dateSums(layout, parts);
    return sums.map((sum, date) => sum / counts[date]!).filter((_, date) => counts[date]! > 0);
  };
}
