import { type LabelSpans, labelSpans, latestSpan } from "../../panel/label-spans.ts";
import type { PanelRows, WarmUp } from "../../panel/ticker-panel.ts";

/** The facts about a ticker's rows that a job keeps for its final report. */
export interface RowFacts {
  readonly fitRows: number;
  /** The number of features that are not empty. */
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
