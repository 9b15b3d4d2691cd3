import type { RunSummary } from "./run-summary.ts";

/** Fewer tickers on a date hardly have an order. */
export const MIN_ORDER_TICKERS = 5;

/** What the figure of order of a run is, in the words of its verdict: with few tickers, no date has an IC. */
export function orderName({ tickers }: Pick<RunSummary, "tickers">): "IC" | "correlation over time" {
  return tickers < MIN_ORDER_TICKERS ? "correlation over time" : "IC";
}
