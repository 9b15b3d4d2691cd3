import { MAX_GAP_DAYS } from "../contract/market/ticker-series.ts";
import { NO_LABEL_DAY } from "./labels.ts";
import type { TickerPanel } from "./ticker-panel.ts";

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
