import type { Pausable } from "../contract/machine/pausable.ts";
import type { CrossSection, Metrics } from "../contract/output/metrics-schemas.ts";
import { crossSection, type OnDate } from "./cross-section.ts";
import { concatenate } from "./forecast-rows.ts";
import { metrics, metricsInSteps } from "./metrics.ts";
import { laidByDate } from "./rows-by-date.ts";
import { median } from "./statistics.ts";
import type { TableRows } from "./table-rows.ts";

/** One table of the output's `metrics`. A Map because a plain object would move tickers such as `10`. */
export interface ForecastTable {
  readonly pooled: Metrics;
  /** Every given ticker, ascending by code point, including those without a labelled row. */
  readonly by_ticker: ReadonlyMap<string, Metrics>;
  readonly cross_section: CrossSection;
  /** Median of the tickers' r2_zero values that exist, because one volatile ticker can decide the pooled value. */
  readonly r2_zero_median: number | null;
}

/**
 * Metrics per ticker, over all rows together, and across tickers date by date. Each ticker is a unit of progress.
 * @param predicted for each ticker of `rows`: shape (its rows). The forecasts of the rows themselves, or those of a baseline.
 * @param onDate as in `crossSection`.
 */
export function* forecastTable(
  rows: TableRows,
  predicted: readonly Float64Array[] = rows.tickers.map((ticker) => ticker.predicted),
  onDate?: OnDate,
): Pausable<ForecastTable> {
  const { tickers, realised, trainingMean, facts, byDate } = rows;
  const whole = { predicted: concatenate(predicted), realised, trainingMean };
  yield 0;
  const pooled = yield* metricsInSteps(whole, facts);
  const cross_section = yield* crossSection(byDate, yield* laidByDate(byDate.layout, predicted), onDate);
  const by_ticker = new Map<string, Metrics>();
  for (const [i, ticker] of tickers.entries()) {
    by_ticker.set(ticker.ticker, metrics({ ...ticker, predicted: predicted[i]! }));
    yield 1;
  }
  const skills = [...by_ticker.values()].flatMap(({ r2_zero }) => r2_zero ?? []);
  return { pooled, by_ticker, cross_section, r2_zero_median: median(Float64Array.from(skills)) };
}
