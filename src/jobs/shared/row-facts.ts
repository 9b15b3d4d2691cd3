import { type LabelSpans, labelSpans, latestSpan } from "../../panel/label-spans.ts";
import type { PanelRows, WarmUp } from "../../panel/ticker-panel.ts";

/** What a job keeps of a ticker's rows to tell of them, once all tickers are done. */
export interface RowFacts {
  readonly fitRows: number;
  /** Those that are not empty. */
  readonly features: number;
  readonly spans: LabelSpans;
  /** The median of the last labels before mu's row, in calendar days. */
  readonly latestSpan: number;
  readonly warmUp: WarmUp;
}

export function rowFacts(panel: PanelRows): RowFacts {
  const { fit, columns, warmUp } = panel;
  return {
    fitRows: fit.length,
    features: columns.length,
    spans: labelSpans(panel),
    latestSpan: latestSpan(panel),
    warmUp,
  };
}
