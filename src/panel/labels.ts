import { LIMITS } from "../contract/config/limits.ts";
import { MAX_GAP_DAYS } from "../contract/market/ticker-series.ts";
import { logOfRatio, naturalLog } from "./natural-log.ts";
import type { TickerPanel } from "./ticker-panel.ts";

/** The value of `labelDays` for a row without a label (there `y` is NaN too). Earlier than any date. */
export const NO_LABEL_DAY = -2_147_483_648;

/** No label is known more than this many calendar days after the date of its row. */
export const MAX_LABEL_DAYS = (1 + LIMITS.delay) * MAX_GAP_DAYS;

/**
 * The label of price date i is ln(P[i + 1 + delay] / P[i + delay]) over the ticker's own price dates: what a trade at the close `delay` dates
 * later earns until the next close. It is known at the close of its label date i + 1 + delay, never before. The last 1 + delay price dates
 * have none, and neither has a date if one of the steps from i to its label date is longer than MAX_GAP_DAYS.
 * @param days shape (m), price dates, ascending.
 * @param prices shape (m), finite and above zero.
 * @returns shape (m) each: labels, NaN if there is none; the day on which each becomes known, or NO_LABEL_DAY; and the log-return to the next
 * price, NaN if that is more than MAX_GAP_DAYS later. `longGaps` counts the dates without a label because of such a step, `largestGap` is
 * the index of the date before the largest one, the first if equal.
 */
export function labelPrices(days: Int32Array, prices: Float64Array, delay = 0) {
  const m = days.length;
  const returns = new Float64Array(m).fill(Number.NaN);
  const y = new Float64Array(m).fill(Number.NaN);
  const labelDays = new Int32Array(m).fill(NO_LABEL_DAY);
  /** The last date that a long gap follows. */
  let gapAt = -1;
  let [longGaps, largestGap] = [0, 0];
  for (let i = 0; i + 1 < m; i++) {
    const gap = days[i + 1]! - days[i]!;
    if (gap > days[largestGap + 1]! - days[largestGap]!) largestGap = i;
    if (gap > MAX_GAP_DAYS) {
      longGaps += Math.min(i - gapAt, 1 + delay);
      gapAt = i;
      continue;
    }
    // Of the exact ratio if the quotient leaves the range of a float64.
    const ratio = prices[i + 1]! / prices[i]!;
    const isInRange = ratio > 0 && ratio < Number.POSITIVE_INFINITY;
    returns[i] = isInRange ? naturalLog(ratio) : logOfRatio(prices[i + 1]!, prices[i]!);
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
 * Standard deviation (ddof 0) of the last VOLATILITY_RETURNS returns that are known at the close of each price date, whatever the delay of
 * the labels.
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

/** Shape (m): calendar days to the next price date; 0 for the last one. @param days price dates, ascending. */
export function priceSpacing(days: Int32Array): Int32Array {
  return days.map((day, i) => (days[i + 1] ?? day) - day);
}

/** Shape (MAX_GAP_DAYS + 1): how many fit rows have their next price 0, 1, 2, … days later. A longer gap leaves a row without a label. */
export function fitSpans({ spacing, fit }: Pick<TickerPanel, "spacing" | "fit">): Int32Array {
  const spans = new Int32Array(MAX_GAP_DAYS + 1);
  for (const row of fit) spans[spacing[row]!]!++;
  return spans;
}

/** An odd number, large enough for holidays to leave a majority at one day: a week of closed markets makes five of eleven longer. */
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

export function pooledSpans(each: Iterable<Int32Array>): Int32Array {
  const pooled = new Int32Array(MAX_GAP_DAYS + 1);
  for (const spans of each) for (const [span, rows] of spans.entries()) pooled[span]! += rows;
  return pooled;
}

/** The median span of rows, in calendar days: 1 for daily prices, 7 for weekly ones; null without rows. @param spans as in `fitSpans`. */
export function medianSpan(spans: Int32Array): number | null {
  const rows = spans.reduce((sum, count) => sum + count, 0);
  if (rows === 0) return null;
  const spanAt = (position: number) => {
    let after = position;
    return spans.findIndex((count) => {
      after -= count;
      return after < 0;
    });
  };
  return (spanAt((rows - 1) >> 1) + spanAt(rows >> 1)) / 2;
}
