import { MIN_ORDER_TICKERS } from "../contract/output/later-close.ts";
import type { DelayedOrder } from "../contract/output/metrics-schemas.ts";
import { type ForecastRows, inTickerOrder, labelled, valuesAt } from "./forecast-rows.ts";
import { meanWithT } from "./mean-test.ts";
import { averageRanks, quantilesOf } from "./rank.ts";
import { type DateLayout, type DateRange, dateLayout, datesWith, valuesByDate } from "./rows-by-date.ts";
import { correlation, finiteOrNull, isConstant, mean } from "./statistics.ts";
import { orderOverTime, signedReturnT } from "./verdict/order.ts";

/** How many dates later than its own label the labels of each entry are. */
const STEPS = [0, 1, 2];

const FIFTHS = 5;
const ENDS = [FIFTHS - 1, 0];
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
  const later = (step: number) => ordered.map((row) => laterLabels(row, layout, step));
  if (ordered.length < MIN_ORDER_TICKERS) {
    return steps.map((step) => {
      const rows = later(step).map((realised, i) => labelled({ ...ordered[i]!, realised }));
      const { values } = orderOverTime(rows);
      const order = { order_mean: finiteOrNull(mean(values)), order_t: signedReturnT(values) };
      const none = ordersAcross([], new Float64Array(), new Float64Array());
      return { delay: delay + step, ...none, dates: values.length, ...order };
    });
  }
  const laid = (of: (row: ForecastRows, number: number) => Float64Array) =>
    valuesByDate(layout, ordered.map(of));
  const predicted = laid((row) => row.predicted);
  const tickers = laid(({ days }, number) => new Float64Array(days.length).fill(number));
  const dates = datesWithFifths(layout, tickers, predicted);
  return steps.map((step) => {
    const labels = valuesByDate(layout, later(step));
    return { delay: delay + step, ...ordersAcross(dates, predicted, labels) };
  });
}

/** Shape (rows): the ticker's label at the date that is `step` dates later; NaN if it has none there. */
function laterLabels({ days, realised }: ForecastRows, layout: DateLayout, step: number): Float64Array {
  const dates = Int32Array.from(datesWith(layout), ({ day }) => day);
  const labels = new Float64Array(days.length).fill(Number.NaN);
  let [date, j] = [0, 0];
  for (const [i, day] of days.entries()) {
    while (dates[date]! < day) date++;
    const due = dates[date + step] ?? Number.POSITIVE_INFINITY;
    while (j < days.length && days[j]! < due) j++;
    if (days[j] === due) labels[i] = realised[j]!;
  }
  return labels;
}

interface SortedDate extends Omit<DateRange, "day"> {
  readonly fifths: Int32Array;
  /** The mean of the shares of each end that were not in it on the date before. */
  readonly replaced: number;
}

/** The dates that can count, whichever labels their forecasts are compared with. @param tickers by number, of all rows, date after date. */
function datesWithFifths(layout: DateLayout, tickers: Float64Array, predicted: Float64Array): SortedDate[] {
  const dates: SortedDate[] = [];
  /** The fifth of each ticker on the date before, if that has both ends. */
  let before: ReadonlyMap<number, number> | undefined;
  for (const { from, to } of datesWith(layout)) {
    const fifths = quantilesOf(predicted.subarray(from, to), FIFTHS);
    const hasEnds = to - from >= MIN_ORDER_TICKERS && ENDS.every((end) => fifths.includes(end));
    const now = new Map(Array.from(fifths, (fifth, i) => [tickers[from + i]!, fifth]));
    if (hasEnds && before !== undefined) {
      // Tickers without a forecast on the date before do not count; NaN if none counts.
      const [top, bottom] = ENDS.map((end) => {
        const held = [...now].filter(([ticker, fifth]) => fifth === end && before!.has(ticker));
        return held.filter(([ticker]) => before!.get(ticker) !== end).length / held.length;
      }) as [number, number];
      if (!Number.isNaN(top + bottom)) dates.push({ from, to, fifths, replaced: (top + bottom) / 2 });
    }
    before = hasEnds ? now : undefined;
  }
  return dates;
}

/** @param predicted of all rows, date after date; `labels` likewise, NaN if there is none. */
function ordersAcross(
  dates: readonly SortedDate[],
  predicted: Float64Array,
  labels: Float64Array,
): Omit<DelayedOrder, "delay"> {
  const found: { ic: number; rankIc: number; spread: number; replaced: number }[] = [];
  for (const { from, fifths, replaced } of dates) {
    const known = [...fifths.keys()].filter((i) => !Number.isNaN(labels[from + i]!));
    const [p, y] = [valuesAt(predicted.subarray(from), known), valuesAt(labels.subarray(from), known)];
    if (known.length < MIN_ORDER_TICKERS || isConstant(p) || isConstant(y)) continue;
    const [top, bottom] = ENDS.map((end) => {
      const returns = known.flatMap((i, k) => (fifths[i] === end ? [Math.expm1(y[k]!)] : []));
      return mean(Float64Array.from(returns));
    }) as [number, number];
    const spread = BASIS_POINTS * (top - bottom);
    if (Number.isNaN(spread)) continue;
    const rankIc = correlation(averageRanks(p), averageRanks(y))!;
    found.push({ ic: correlation(p, y)!, rankIc, spread, replaced });
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
