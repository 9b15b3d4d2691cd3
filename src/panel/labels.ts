import { MAX_GAP_DAYS } from "../contract/market/ticker-series.ts";
import { logOfRatio, naturalLog } from "./natural-log.ts";
import type { TickerPanel } from "./ticker-panel.ts";

/** The value of `labelDays` for a row without a label (there `y` is NaN too). Earlier than any date. */
export const NO_LABEL_DAY = -2_147_483_648;

/** One label per price date. */
interface Labels {
  /** Shape (m): next-day log-return, NaN if there is no label. */
  readonly y: Float64Array;
  /** Shape (m): the day on which `y` becomes known, or NO_LABEL_DAY. */
  readonly labelDays: Int32Array;
  /** Price dates whose next price is more than MAX_GAP_DAYS later. */
  readonly longGaps: number;
  /** The index of the price date before the largest gap, the first one if equal; 0 if there is a single date. */
  readonly largestGap: number;
}

/**
 * y_d = ln(P_next / P_d) over the ticker's own next price date. The label of d is known at the close of its label date, never before. The
 * last price date has none, and neither has a date before a long gap.
 * @param days shape (m), price dates, ascending.
 * @param prices shape (m), finite and above zero.
 */
export function labelPrices(days: Int32Array, prices: Float64Array): Labels {
  const m = days.length;
  const y = new Float64Array(m).fill(Number.NaN);
  const labelDays = new Int32Array(m).fill(NO_LABEL_DAY);
  let longGaps = 0;
  let largestGap = 0;
  for (let i = 0; i + 1 < m; i++) {
    const gap = days[i + 1]! - days[i]!;
    if (gap > days[largestGap + 1]! - days[largestGap]!) largestGap = i;
    if (gap > MAX_GAP_DAYS) {
      longGaps++;
      continue;
    }
    y[i] = logReturn(prices[i]!, prices[i + 1]!);
    labelDays[i] = days[i + 1]!;
  }
  return { y, labelDays, longGaps, largestGap };
}

/** The number of returns for a ticker's volatility: about a month of trading days. */
const VOLATILITY_RETURNS = 20;

/**
 * Standard deviation (ddof 0) of the last VOLATILITY_RETURNS returns that are known at the close of each price date: the returns
 * of earlier price dates, whose labels are known by then. The work grows only with the dates, even if long gaps leave few
 * returns.
 * @param y shape (m), from `labelPrices`.
 * @returns shape (m), NaN if there are fewer returns.
 */
export function recentVolatility(y: Float64Array): Float64Array {
  const returns = y.filter((value) => !Number.isNaN(value));
  let known = 0;
  return y.map((value) => {
    const volatility = deviationOfLast(returns, known);
    if (!Number.isNaN(value)) known++;
    return volatility;
  });
}

/** The deviation of the VOLATILITY_RETURNS returns before index `end`; exactly 0 if all are equal. */
function deviationOfLast(returns: Float64Array, end: number): number {
  const start = end - VOLATILITY_RETURNS;
  if (start < 0) return Number.NaN;
  if (returns.subarray(start, end).every((value) => value === returns[start])) return 0;
  let sum = 0;
  for (let i = start; i < end; i++) sum += returns[i]!;
  const mean = sum / VOLATILITY_RETURNS;
  let squares = 0;
  for (let i = start; i < end; i++) squares += (returns[i]! - mean) * (returns[i]! - mean);
  return Math.sqrt(squares / VOLATILITY_RETURNS);
}

/** ln of the float64 next / price, correctly rounded; of the exact ratio if that leaves the range of a float64. */
function logReturn(price: number, next: number): number {
  const ratio = next / price;
  return ratio > 0 && Number.isFinite(ratio) ? naturalLog(ratio) : logOfRatio(next, price);
}

/** Shape (MAX_GAP_DAYS + 1): the number of labels that are known 0, 1, 2, … calendar days after the date of their row. */
export type LabelSpans = Int32Array;

/** The spans of the labels that a ticker learns from. */
export function labelSpans({
  days,
  labelDays,
  fit,
}: Pick<TickerPanel, "days" | "labelDays" | "fit">): LabelSpans {
  const spans = new Int32Array(MAX_GAP_DAYS + 1);
  for (const row of fit) spans[labelDays[row]! - days[row]!]!++;
  return spans;
}

/**
 * An odd number, large enough for holidays to leave a majority at one day: a week of closed markets around New Year makes five of eleven
 * longer.
 */
const LATEST_SPANS = 11;

/**
 * The median span of the last LATEST_SPANS rows before the last one, whose own label is not known yet: the spacing of prices when `mu` is
 * made, whatever it was in the fit rows. A row before a gap without a label counts as MAX_GAP_DAYS + 1.
 * @param panel at least two rows.
 */
export function latestSpan({ days, labelDays }: Pick<TickerPanel, "days" | "labelDays">): number {
  const last = days.length - 1;
  const spans: number[] = [];
  for (let row = Math.max(0, last - LATEST_SPANS); row < last; row++) {
    const hasLabel = labelDays[row]! !== NO_LABEL_DAY;
    spans.push(hasLabel ? labelDays[row]! - days[row]! : MAX_GAP_DAYS + 1);
  }
  return spans.sort((a, b) => a - b)[(spans.length - 1) >> 1]!;
}

/** The labels of all tickers together. */
export function pooledSpans(each: Iterable<LabelSpans>): LabelSpans {
  const pooled = new Int32Array(MAX_GAP_DAYS + 1);
  for (const spans of each) for (const [span, labels] of spans.entries()) pooled[span]! += labels;
  return pooled;
}

/**
 * The median span, in calendar days: 1 for daily prices, 7 for weekly ones. For an even number of labels, the mean of the two in the
 * middle.
 * @returns null if there is no label.
 */
export function medianSpan(spans: LabelSpans): number | null {
  const labels = spans.reduce((sum, count) => sum + count, 0);
  if (labels === 0) return null;
  return (spanAt(spans, (labels - 1) >> 1) + spanAt(spans, labels >> 1)) / 2;
}

/** The span at a position of all labels in ascending order, counted from 0. */
function spanAt(spans: LabelSpans, position: number): number {
  let before = 0;
  return spans.findIndex((labels) => {
    before += labels;
    return before > position;
  });
}
