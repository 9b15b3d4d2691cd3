import type { CrossSection, Metrics } from "../contract/output-blob.ts";
import { crossSection } from "./cross-section.ts";
import { concatenate, type ForecastRows, inTickerOrder, labelled } from "./forecast-rows.ts";
import { metrics } from "./metrics.ts";

/** One table of the output's `metrics`. A Map because a plain object would move tickers such as `10`. */
export interface ForecastTable {
  readonly pooled: Metrics;
  /** Every ticker given, ascending by code point, also those without a labelled row. */
  readonly by_ticker: ReadonlyMap<string, Metrics>;
  readonly cross_section: CrossSection;
}

/**
 * Metrics per ticker, over all rows together, and across tickers date by date. Rows without a label do not count.
 * @param rows tickers in any order; the table is the same, byte for byte.
 */
export function forecastTable(rows: readonly ForecastRows[]): ForecastTable {
  const known = inTickerOrder(rows).map(labelled);
  return {
    pooled: metrics({
      predicted: concatenate(known.map((ticker) => ticker.predicted)),
      realised: concatenate(known.map((ticker) => ticker.realised)),
      trainingMean: concatenate(known.map((ticker) => ticker.trainingMean)),
    }),
    by_ticker: new Map(known.map((ticker) => [ticker.ticker, metrics(ticker)])),
    cross_section: crossSection(known),
  };
}
