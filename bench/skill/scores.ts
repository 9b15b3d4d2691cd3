import type { DelayedOrder } from "../../src/contract/output/metrics-schemas.ts";
import { delayedOrders } from "../../src/evaluate/delayed-order.ts";
import type { ForecastRows } from "../../src/evaluate/forecast-rows.ts";
import { forecastTable, tableRows } from "../../src/evaluate/forecast-table.ts";

/** How good forecasts are, by the product's own statistics. */
export interface Score {
  readonly rows: number;
  /** Null for forecasts that are not returns. */
  readonly r2Zero: number | null;
  /** Against each ticker's mean return up to the cut. */
  readonly r2Mean: number | null;
  /** What their order is worth if the trades are made at the close that the labels assume. */
  readonly close: DelayedOrder;
  /** The same forecasts, traded one close later. */
  readonly later: DelayedOrder;
}

/**
 * @param rows labelled, tickers in any order. @param delay of the labels.
 * @param isReturn whether forecasts are returns: for others, R² has no meaning.
 */
export function scoreForecasts(rows: readonly ForecastRows[], delay: number, isReturn: boolean): Score {
  const labelled = tableRows(rows);
  const { pooled } = forecastTable(labelled);
  const [close, later] = delayedOrders(labelled, delay);
  return {
    rows: pooled.n,
    r2Zero: isReturn ? pooled.r2_zero : null,
    r2Mean: isReturn ? pooled.r2_mean : null,
    close: close!,
    later: later!,
  };
}
