import type { Day } from "../contract/market/dates.ts";
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
 * @param rows tickers in any order; NaN for labels that are not known. @param delay of the labels.
 */
export function delayedOrders(rows: readonly ForecastRows[], delay: number): DelayedOrder[] {
  const ordered = inTickerOrder(rows).filter(({ days }) => days.length > 0);
  const layout = dateLayout(ordered);
  const later = (step: number) => ordered.map((row) => laterLabels(row, layout, step));
  if (ordered.length < MIN_ORDER_TICKERS) {
    return STEPS.map((step) => {
      const rows = later(step).map((realised, i) => labelled({ ...ordered[i]!, realised }));
      const { values } = orderOverTime(rows);
      const order = { order_mean: finiteOrNull(mean(values)), order_t: signedReturnT(values) };
      return { delay: delay + step, ...ordersAcross([]), dates: values.length, ...order };
    });
  }
  return ordersByDate(rows, STEPS, "both").map((dates, i) => ({
    delay: delay + STEPS[i]!,
    ...ordersAcross(dates),
  }));
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

interface SortedDate extends DateRange {
  readonly ranks: Float64Array;
  readonly fifths: Int32Array;
  /** The mean of the shares of each end that were not in it on the date before. */
  readonly replaced: number;
}

/** The dates that can count, whichever labels their forecasts are compared with. @param tickers by number, of all rows, date after date. */
function datesWithFifths(layout: DateLayout, tickers: Float64Array, predicted: Float64Array): SortedDate[] {
  const dates: SortedDate[] = [];
  const count = tickers.reduce((most, ticker) => Math.max(most, ticker + 1), 0);
  /** The fifth of each ticker on the date before, -1 without one, if that date has both ends. */
  let before: Int8Array | undefined;
  for (const { day, from, to } of datesWith(layout)) {
    const ranks = averageRanks(predicted.subarray(from, to));
    const fifths = quantilesOf(ranks, FIFTHS);
    const hasEnds = to - from >= MIN_ORDER_TICKERS && ENDS.every((end) => fifths.includes(end));
    const now = new Int8Array(count).fill(-1);
    for (let i = from; i < to; i++) now[tickers[i]!] = fifths[i - from]!;
    if (hasEnds && before !== undefined) {
      const [top, bottom] = ENDS.map((end) => replacedShare(before!, now, end)) as [number, number];
      if (!Number.isNaN(top + bottom))
        dates.push({ day, from, to, ranks, fifths, replaced: (top + bottom) / 2 });
    }
    before = hasEnds ? now : undefined;
  }
  return dates;
}

/**
 * The share of the tickers of a fifth that were in another one on the date before. Tickers without a forecast then do not count; NaN if none
 * counts.
 */
function replacedShare(before: Int8Array, now: Int8Array, fifth: number): number {
  let [held, replaced] = [0, 0];
  for (let ticker = 0; ticker < now.length; ticker++) {
    if (now[ticker] !== fifth || before[ticker]! < 0) continue;
    held++;
    if (before[ticker] !== fifth) replaced++;
  }
  return replaced / held;
}

export interface DateOrder {
  readonly day: Day;
  /** NaN unless wanted, as is `rankIc`. */
  readonly ic: number;
  readonly rankIc: number;
  /** The mean simple return of each fifth, the lowest forecasts first; NaN without a label. */
  readonly returns: Float64Array;
  /** The return of the highest fifth minus that of the lowest, in basis points. */
  readonly spread: number;
  /** The mean of the shares of both that were not in them on the date before. */
  readonly replaced: number;
}

/** For each step, how many dates later the labels are than their own, the dates that count as in `delayedOrders`. */
export function ordersByDate(
  rows: readonly ForecastRows[],
  steps: readonly number[],
  correlations: "none" | "ic" | "both" = "none",
): DateOrder[][] {
  const ordered = inTickerOrder(rows).filter(({ days }) => days.length > 0);
  const layout = dateLayout(ordered);
  const laid = (of: (row: ForecastRows, number: number) => Float64Array) =>
    valuesByDate(layout, ordered.map(of));
  const predicted = laid((row) => row.predicted);
  const tickers = laid(({ days }, number) => new Float64Array(days.length).fill(number));
  const dates = datesWithFifths(layout, tickers, predicted);
  return steps.map((step) => {
    const labels = laid((row) => laterLabels(row, layout, step));
    return dates.flatMap(({ day, from, ranks, fifths, replaced }): DateOrder[] => {
      const known: number[] = [];
      for (let i = 0; i < fifths.length; i++) if (!Number.isNaN(labels[from + i]!)) known.push(i);
      const [p, y] = [valuesAt(predicted.subarray(from), known), valuesAt(labels.subarray(from), known)];
      if (known.length < MIN_ORDER_TICKERS || isConstant(p) || isConstant(y)) return [];
      const [sums, counts] = [new Float64Array(FIFTHS), new Float64Array(FIFTHS)];
      for (const [k, i] of known.entries()) {
        sums[fifths[i]!]! += Math.expm1(y[k]!);
        counts[fifths[i]!]!++;
      }
      const returns = sums.map((sum, fifth) => sum / counts[fifth]!);
      const spread = BASIS_POINTS * (returns[FIFTHS - 1]! - returns[0]!);
      if (Number.isNaN(spread)) return [];
      const ic = correlations === "none" ? Number.NaN : correlation(p, y)!;
      const own = known.length === ranks.length ? ranks : averageRanks(p);
      const rankIc = correlations === "both" ? correlation(own, averageRanks(y))! : Number.NaN;
      return [{ day, ic, rankIc, returns, spread, replaced }];
    });
  });
}

/** In basis points: a replaced share of an end is sold and bought, at both ends. @param cost a side. */
export function costOf({ replaced }: Pick<DateOrder, "replaced">, cost: number): number {
  return cost * 4 * replaced;
}

export function ordersAcross(found: readonly DateOrder[]): Omit<DelayedOrder, "delay"> {
  const over = (of: (date: DateOrder) => number) => meanWithT(Float64Array.from(found, of));
  const ic = over((date) => date.ic);
  const rankIc = over((date) => date.rankIc);
  const spread = over((date) => date.spread);
  const turnover = over((date) => date.replaced).mean;
  const net = (cost: number) =>
    spread.mean === null || turnover === null ? null : spread.mean - costOf({ replaced: turnover }, cost);
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
    net_5bp_t: over((date) => date.spread - costOf(date, 5)).t,
    net_10bp: net(10),
  };
}
