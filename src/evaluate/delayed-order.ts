import { MIN_ORDER_TICKERS } from "../contract/output/later-close.ts";
import type { DelayedOrder } from "../contract/output/metrics-schemas.ts";
import { type ForecastRows, inTickerOrder, labelled } from "./forecast-rows.ts";
import { meanWithT } from "./mean-test.ts";
import { type DateQuantiles, quantilesOfRanks, replacedShare } from "./quantiles.ts";
import { averageRanks } from "./rank.ts";
import { type DateLayout, type DateRange, dateLayout, datesWith, valuesByDate } from "./rows-by-date.ts";
import { correlation, finiteOrNull, isConstant, mean } from "./statistics.ts";
import { orderOverTime, signedReturnT } from "./verdict/order.ts";

/** How many dates later than its own label the labels of each entry are. */
const STEPS = [0, 1, 2];

const FIFTHS = 5;
const BASIS_POINTS = 1e4;

/**
 * What the order of forecasts is worth if the trades are made at the close that the labels assume, one date later and two dates later. The
 * label k dates later is the ticker's label at the k-th later date on which any ticker has a row.
 *
 * A date counts if it and the date before have fifths: at least MIN_ORDER_TICKERS forecasts, and a ticker in the lowest and in the highest
 * fifth. Both need a ticker with that label and one with a forecast on the date before, and at least MIN_ORDER_TICKERS tickers need that
 * label, with forecasts and labels that differ.
 * @param rows tickers in any order; NaN for labels that are not known. @param delay of the labels. @param steps of the entries.
 */
export function delayedOrders(
  rows: readonly ForecastRows[],
  delay: number,
  steps: readonly number[] = STEPS,
): DelayedOrder[] {
  const ordered = inTickerOrder(rows).filter(({ days }) => days.length > 0);
  const layout = dateLayout(ordered);
  const numbers = dateNumbers(layout);
  const later = (step: number) => ordered.map((row) => laterLabels(row, numbers, layout.first, step));
  if (ordered.length < MIN_ORDER_TICKERS) {
    const orders: DelayedOrder[] = [];
    for (const step of steps) {
      const rows = later(step).map((realised, i) => labelled({ ...ordered[i]!, realised }));
      const { values } = orderOverTime(rows);
      const order = { order_mean: finiteOrNull(mean(values)), order_t: signedReturnT(values) };
      orders.push({ delay: delay + step, dates: values.length, ...FIGURES_ACROSS, ...order });
    }
    return orders;
  }
  const predicted = valuesByDate(
    layout,
    ordered.map((row) => row.predicted),
  );
  const dates = sortedDates(ordered, layout, predicted);
  const orders: DelayedOrder[] = [];
  for (const step of steps) {
    const labels = valuesByDate(layout, later(step));
    orders.push({ delay: delay + step, ...ordersAcross(dates, predicted, labels) });
  }
  return orders;
}

const FIGURES_ACROSS = {
  ic_mean: null,
  ic_t: null,
  rank_ic_mean: null,
  rank_ic_t: null,
  spread_mean: null,
  spread_t: null,
  turnover: null,
  net_1bp: null,
  net_5bp: null,
  net_5bp_t: null,
  net_10bp: null,
};

/** Shape (calendar days from the first date to the last): the number of dates with a row before each. */
function dateNumbers({ starts }: DateLayout): Int32Array {
  let dates = 0;
  return Int32Array.from({ length: starts.length - 1 }, (_, d) =>
    starts[d] === starts[d + 1] ? dates : dates++,
  );
}

/** Shape (rows): the ticker's label at the date that is `step` dates later; NaN if it has none there. */
function laterLabels(
  { days, realised }: ForecastRows,
  numbers: Int32Array,
  first: number,
  step: number,
): Float64Array {
  const labels = new Float64Array(days.length).fill(Number.NaN);
  const at = (i: number) => numbers[days[i]! - first]!;
  for (let i = 0, j = 0; i < days.length; i++) {
    while (j < days.length && at(j) < at(i) + step) j++;
    if (j < days.length && at(j) === at(i) + step) labels[i] = realised[j]!;
  }
  return labels;
}

/** A date that can count. */
interface SortedDate extends Omit<DateRange, "day"> {
  readonly fifths: Int32Array;
  /** The share of each end that was not in it on the date before. */
  readonly topReplaced: number;
  readonly bottomReplaced: number;
}

/** The dates that can count, whichever labels their forecasts are compared with. */
function sortedDates(
  rows: readonly ForecastRows[],
  layout: DateLayout,
  predicted: Float64Array,
): SortedDate[] {
  const tickers = valuesByDate(
    layout,
    rows.map(({ days }, number) => new Float64Array(days.length).fill(number)),
  );
  const dates: SortedDate[] = [];
  let before: DateQuantiles | undefined;
  for (const { from, to } of datesWith(layout)) {
    const fifths = quantilesOfRanks(averageRanks(predicted.subarray(from, to)), FIFTHS);
    const hasEnds = to - from >= MIN_ORDER_TICKERS && fifths.includes(0) && fifths.includes(FIFTHS - 1);
    const now = hasEnds ? { tickers: tickers.subarray(from, to), quantiles: fifths } : undefined;
    if (now !== undefined && before !== undefined) {
      const [topReplaced, bottomReplaced] = [FIFTHS - 1, 0].map((end) => replacedShare(before!, now, end));
      if (topReplaced !== undefined && bottomReplaced !== undefined)
        dates.push({ from, to, fifths, topReplaced, bottomReplaced });
    }
    before = now;
  }
  return dates;
}

/** @param predicted of all rows, date after date; `labels` likewise, NaN if there is none. */
function ordersAcross(
  sorted: readonly SortedDate[],
  predicted: Float64Array,
  labels: Float64Array,
): Omit<DelayedOrder, "delay"> {
  const found: { ic: number; rankIc: number; spread: number; replaced: number }[] = [];
  for (const { from, fifths, topReplaced, bottomReplaced } of sorted) {
    const known = fifths
      .keys()
      .toArray()
      .filter((i) => !Number.isNaN(labels[from + i]!));
    const p = Float64Array.from(known, (i) => predicted[from + i]!);
    const y = Float64Array.from(known, (i) => labels[from + i]!);
    if (known.length < MIN_ORDER_TICKERS || isConstant(p) || isConstant(y)) continue;
    const ends = [FIFTHS - 1, 0].map((end) =>
      mean(
        Float64Array.from(
          known.filter((i) => fifths[i] === end),
          (i) => Math.expm1(labels[from + i]!),
        ),
      ),
    );
    const spread = ends[0]! - ends[1]!;
    if (Number.isNaN(spread)) continue;
    found.push({
      ic: correlation(p, y)!,
      rankIc: correlation(averageRanks(p), averageRanks(y))!,
      spread: BASIS_POINTS * spread,
      replaced: (topReplaced + bottomReplaced) / 2,
    });
  }
  const over = (of: (date: (typeof found)[number]) => number) => meanWithT(Float64Array.from(found, of));
  const ic = over((date) => date.ic);
  const rankIc = over((date) => date.rankIc);
  const spread = over((date) => date.spread);
  const turnover = over((date) => date.replaced).mean;
  // A replaced share of an end is sold and bought, at both ends.
  const net = (cost: number) =>
    spread.mean === null || turnover === null ? null : spread.mean - cost * 4 * turnover;
  return {
    dates: found.length,
    ic_mean: ic.mean,
    ic_t: ic.t,
    rank_ic_mean: rankIc.mean,
    rank_ic_t: rankIc.t,
    spread_mean: spread.mean,
    spread_t: spread.t,
    turnover,
    net_1bp: net(1),
    net_5bp: net(5),
    net_5bp_t: over((date) => date.spread - 5 * 4 * date.replaced).t,
    net_10bp: net(10),
  };
}
