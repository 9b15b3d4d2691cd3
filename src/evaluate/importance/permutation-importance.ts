import type { Pausable } from "../../contract/machine/pausable.ts";
import type { Day } from "../../contract/market/dates.ts";
import { MIN_ORDER_TICKERS } from "../../contract/output/order-name.ts";
import { crossSection } from "../cross-section.ts";
import type { ForecastRows } from "../forecast-rows.ts";
import { MIN_DATES, neweyWestQuantile } from "../newey-west.ts";
import { type LabelsByDate, labelsByDate, valuesByDate } from "../rows-by-date.ts";
import { finiteOrNull, mean } from "../statistics.ts";
import { dateT } from "../verdict/date-t.ts";
import { type OrderForm, orderByDate } from "../verdict/order.ts";

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
 * the mean RankIC by date minus that of the forecasts of the same models with the group shuffled. The t is that of the mean of the
 * differences of each date, by Newey and West. Dates count that have at least MIN_ORDER_TICKERS tickers. A date whose forecasts do not differ has a
 * RankIC of 0. With fewer than MIN_DATES such dates, the order is that of `orderByDate` over time.
 * @param rows labelled, out of fold. @param permuted by group, then by ticker in the order of `rows`: the forecasts with the group shuffled.
 */
export function* permutationImportance(
  rows: readonly ForecastRows[],
  permuted: readonly (readonly Float64Array[])[],
): Pausable<PermutationImportance> {
  const { form, orderOf } = yield* orderMeasure(rows);
  const whole = yield* orderOf(rows.map(({ predicted }) => predicted));
  const days = [...whole.keys()].sort((a, b) => a - b);
  const groups: GroupLoss[] = [];
  for (const forecasts of permuted) {
    const own = yield* orderOf(forecasts);
    const losses = Float64Array.from(days, (day) => whole.get(day)! - (own.get(day) ?? 0));
    const t = dateT(losses, 1);
    groups.push({ loss: finiteOrNull(mean(losses)), t: t === null ? null : finiteOrNull(t) });
  }
  return {
    form,
    dates: days.length,
    figure: finiteOrNull(mean(Float64Array.from(days, (day) => whole.get(day)!))),
    quantile: days.length < MIN_DATES ? null : neweyWestQuantile(days.length, PROBABILITY),
    groups,
  };
}

/** The order of forecasts on each date that counts. */
type OrderOf = (forecasts: readonly Float64Array[]) => Pausable<ReadonlyMap<Day, number>>;

function* orderMeasure(
  rows: readonly ForecastRows[],
): Pausable<{ readonly form: OrderForm; readonly orderOf: OrderOf }> {
  const all = yield* labelsByDate(rows);
  const labels = { ...all, dates: all.dates.filter(({ from, to }) => to - from >= MIN_ORDER_TICKERS) };
  if (labels.dates.length >= MIN_DATES) {
    return { form: "cross_section", orderOf: (forecasts) => rankIcs(labels, forecasts) };
  }
  return {
    form: "time_series",
    *orderOf(forecasts) {
      const { days, values } = yield* orderByDate(
        rows.map((row, i) => ({ ...row, predicted: forecasts[i]! })),
      );
      return new Map([...days].map((day, i) => [day, values[i]!]));
    },
  };
}

function* rankIcs(labels: LabelsByDate, forecasts: readonly Float64Array[]): Pausable<Map<Day, number>> {
  const byDay = new Map(labels.dates.map(({ day }) => [day, 0]));
  const laid = yield* valuesByDate(labels.layout, forecasts);
  yield* crossSection(labels, laid, (day, { rankIc }) => byDay.set(day, rankIc));
  return byDay;
}
