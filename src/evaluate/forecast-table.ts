import type { Pausable } from "../contract/machine/pausable.ts";
import type { CrossSection, Metrics } from "../contract/output/output-blob.ts";
import { crossSection, type OnDate } from "./cross-section.ts";
import { concatenate, type ForecastRows, inTickerOrder, labelled } from "./forecast-rows.ts";
import { metrics, metricsInSteps } from "./metrics.ts";
import { median } from "./statistics.ts";

/** One table of the output's `metrics`. A Map because a plain object would move tickers such as `10`. */
export interface ForecastTable {
  readonly pooled: Metrics;
  /** Every ticker given, ascending by code point, also those without a labelled row. */
  readonly by_ticker: ReadonlyMap<string, Metrics>;
  readonly cross_section: CrossSection;
  /** Median of the tickers' r2_zero that exist: one volatile ticker can decide the pooled one. */
  readonly r2_zero_median: number | null;
}

/**
 * Metrics per ticker, over all rows together, and across tickers date by date. Rows without a label do not count. Each
 * ticker is a unit of progress.
 * @param rows tickers in any order; the table is the same, byte for byte.
 * @param onDate as of `crossSection`.
 */
export function* forecastTable(rows: readonly ForecastRows[], onDate?: OnDate): Pausable<ForecastTable> {
  const known: ForecastRows[] = [];
  for (const ticker of inTickerOrder(rows)) {
    known.push(labelled(ticker));
    yield 0;
  }
  const pooled = yield* pooledMetrics(known);
  const cross_section = yield* crossSection(known, onDate);
  const by_ticker = new Map<string, Metrics>();
  for (const ticker of known) {
    by_ticker.set(ticker.ticker, metrics(ticker));
    yield 1;
  }
  const skills = [...by_ticker.values()].flatMap(({ r2_zero }) => r2_zero ?? []);
  return { pooled, by_ticker, cross_section, r2_zero_median: median(Float64Array.from(skills)) };
}

function* pooledMetrics(known: readonly ForecastRows[]): Pausable<Metrics> {
  const predicted = concatenate(known.map((ticker) => ticker.predicted));
  yield 0;
  const realised = concatenate(known.map((ticker) => ticker.realised));
  yield 0;
  const trainingMean = concatenate(known.map((ticker) => ticker.trainingMean));
  yield 0;
  return yield* metricsInSteps({ predicted, realised, trainingMean });
}
