import { LIMITS } from "../contract/config/limits.ts";
import { MAX_GAP_DAYS } from "../contract/market/ticker-series.ts";
import { logOfRatio, naturalLog } from "./natural-log.ts";
import type { TickerPanel } from "./ticker-panel.ts";

/** The value of `labelDays` for a row without a label (there `y` is NaN too). Earlier than any date. */
export const NO_LABEL_DAY = -2_147_483_648;

/** No label is known more than this many calendar days after the date of its row. */
export const MAX_LABEL_DAYS = (1 + LIMITS.delay) * MAX_GAP_DAYS;

/** One label per price date. */
interface Labels {
  /** Shape (m): log-return from the price `delay` dates later to the next one; NaN if there is no label. */
  readonly y: Float64Array;
  /** Shape (m): the day on which `y` becomes known, or NO_LABEL_DAY. */
  readonly labelDays: Int32Array;
  /** Shape (m): log-return to the next price, NaN if that is more than MAX_GAP_DAYS later. Equal to `y` without delay. */
  readonly returns: Float64Array;
  /** Price dates without a label because one of its steps is longer than MAX_GAP_DAYS. */
  readonly longGaps: number;
  /** The index of the price date before the largest gap, the first one if equal; 0 if there is a single date. */
  readonly largestGap: number;
}

/**
 * The label of price date i is ln(P[i + 1 + delay] / P[i + delay]) over the ticker's own price dates: what a trade at the close `delay` dates
 * later earns until the next close. It is known at the close of its label date i + 1 + delay, never before. The last 1 + delay price dates
 * have none, and neither has a date if one of the steps between neighbouring dates from i to its label date is longer than MAX_GAP_DAYS.
 * @param days shape (m), price dates, ascending.
 * @param prices shape (m), finite and above zero.
 */
export function labelPrices(days: Int32Array, prices: Float64Array, delay = 0): Labels {
  const m = days.length;
  const returns = new Float64Array(m).fill(Number.NaN);
  const y = new Float64Array(m).fill(Number.NaN);
  const labelDays = new Int32Array(m).fill(NO_LABEL_DAY);
  let longGaps = 0;
  let largestGap = 0;
  /** The last date that a long gap follows. */
  let gapAt = -1;
  for (let i = 0; i + 1 < m; i++) {
    const gap = days[i + 1]! - days[i]!;
    if (gap > days[largestGap + 1]! - days[largestGap]!) largestGap = i;
    if (gap > MAX_GAP_DAYS) {
      longGaps += Math.min(i - gapAt, 1 + delay);
      gapAt = i;
      continue;
    }
    returns[i] = logReturn(prices[i]!, prices[i + 1]!);
    const row = i - delay;
    if (row <= gapAt) continue;
    y[row] = returns[i]!;
    labelDays[row] = days[i + 1]!;
  }
  return { y, labelDays, returns, longGaps, largestGap };
}

/** The number of returns for a ticker's volatility: about a month of trading days. */
const VOLATILITY_RETURNS = 20;

/**
 * Standard deviation (ddof 0) of the last VOLATILITY_RETURNS returns that are known at the close of each price date: those from earlier
 * price dates to the next one, whatever the delay of the labels.
 * @param returns shape (m), from `labelPrices`.
 * @returns shape (m), NaN if there are fewer returns.
 */
export function recentVolatility(returns: Float64Array): Float64Array {
  const finite = returns.filter((value) => !Number.isNaN(value));
  let known = 0;
  return returns.map((value) => {
    const volatility = deviationOfLast(VOLATILITY_RETURNS, finite, known);
    if (!Number.isNaN(value)) known++;
    return volatility;
  });
}

/** The deviation (ddof 0) of the `count` returns before index `end`; exactly 0 if all are equal, NaN if there are fewer. */
export function deviationOfLast(count: number, returns: ArrayLike<number>, end: number): number {
  const start = end - count;
  if (start < 0) return Number.NaN;
  let [sum, isEqual] = [0, true];
  for (let i = start; i < end; i++) {
    sum += returns[i]!;
    isEqual &&= returns[i] === returns[start];
  }
  if (isEqual) return 0;
  const mean = sum / count;
  let squares = 0;
  for (let i = start; i < end; i++) squares += (returns[i]! - mean) * (returns[i]! - mean);
  return Math.sqrt(squares / count);
}

/** ln of the float64 next / price, correctly rounded; of the exact ratio if that leaves the range of a float64. */
function logReturn(price: number, next: number): number {
  const ratio = next / price;
  return ratio > 0 && Number.isFinite(ratio) ? naturalLog(ratio) : logOfRatio(next, price);
}

/** Shape (MAX_GAP_DAYS + 1): the number of rows whose next price is 0, 1, 2, … calendar days later. */
export type PriceSpans = Int32Array;

/** Shape (m): calendar days to the next price date; 0 for the last one. @param days price dates, ascending. */
export function priceSpacing(days: Int32Array): Int32Array {
  return days.map((day, i) => (days[i + 1] ?? day) - day);
}

/** The spans of the rows that a ticker learns from. None is longer than MAX_GAP_DAYS: such a row has no label. */
export function fitSpans({ spacing, fit }: Pick<TickerPanel, "spacing" | "fit">): PriceSpans {
  const spans = new Int32Array(MAX_GAP_DAYS + 1);
  for (const row of fit) spans[spacing[row]!]!++;
  return spans;
}

/**
 * An odd number, large enough for holidays to leave a majority at one day: a week of closed markets around New Year makes five of eleven
 * longer.
 */
const LATEST_SPANS = 11;

/**
 * The median span of the last LATEST_SPANS rows before the last one, after which no price is known: the spacing of prices when `mu` is made,
 * whatever it was in the fit rows. A row before a long gap counts as MAX_GAP_DAYS + 1.
 * @param panel at least two rows.
 */
export function latestSpan({ spacing }: Pick<TickerPanel, "spacing">): number {
  const last = spacing.length - 1;
  const spans = spacing.slice(Math.max(0, last - LATEST_SPANS), last);
  return Math.min(spans.sort()[(spans.length - 1) >> 1]!, MAX_GAP_DAYS + 1);
}

/** The rows of all tickers together. */
export function pooledSpans(each: Iterable<PriceSpans>): PriceSpans {
  const pooled = new Int32Array(MAX_GAP_DAYS + 1);
  for (const spans of each) for (const [span, rows] of spans.entries()) pooled[span]! += rows;
  return pooled;
}

/**
 * The median span, in calendar days: 1 for daily prices, 7 for weekly ones. For an even number of rows, the mean of the two in the middle.
 * @returns null if there is no row.
 */
export function medianSpan(spans: PriceSpans): number | null {
  const rows = spans.reduce((sum, count) => sum + count, 0);
  if (rows === 0) return null;
  return (spanAt(spans, (rows - 1) >> 1) + spanAt(spans, rows >> 1)) / 2;
}

/** The span at a position of all rows in ascending order, counted from 0. */
function spanAt(spans: PriceSpans, position: number): number {
  let before = 0;
  return spans.findIndex((rows) => {
    before += rows;
    return before > position;
  });
}
