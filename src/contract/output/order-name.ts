import type { RunSummary } from "./run-summary.ts";
import type { RowsVerdict } from "./verdict.ts";

/** Fewer tickers on a date hardly have an order. */
export const MIN_ORDER_TICKERS = 5;

/** The one IC and the one R² of forecasts on a set of rows: every page shows these under these names. */
export interface VerdictFigures {
  /** Mean over dates with at least MIN_ORDER_TICKERS tickers; null if the order is measured over time. */
  readonly ic: number | null;
  /** Against a forecast of zero, with equal weight for each ticker. */
  readonly r2: number | null;
}

export function verdictFigures({ order, sizes }: Pick<RowsVerdict, "order" | "sizes">): VerdictFigures {
  return { ic: order.form === "cross_section" ? order.figure : null, r2: sizes.against.zero.r2 };
}

/** The IC of a run. Summaries of 0.2.0 have a correlation over time in its place, for few tickers. */
export function summaryIc({ tickers, verdict }: Pick<RunSummary, "tickers" | "verdict">): number | null {
  return verdict === null || tickers < MIN_ORDER_TICKERS ? null : verdict.ic;
}
