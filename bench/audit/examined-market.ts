import type { Finding } from "../../src/audit/check.ts";
import { tickerHistory } from "../../src/audit/foresight/feature-history.ts";
import { ExaminedFeatures } from "../../src/audit/foresight/foresight.ts";
import { HistoryComparison } from "../../src/audit/restatement/history-comparison.ts";
import { featureFindings, priceFindings } from "../../src/audit/restatement/restatement-findings.ts";
import { priceSeries, type TickerSeries } from "../../src/contract/market/ticker-series.ts";
import type { Market, TwoDays } from "./clean-markets.ts";

/** The foresight check on a market in memory. @param times how many times as many tests the whole market has as this part of it. */
export function foresightOf({ prices, features }: Market, times = 1) {
  const days = prices[0]!.days;
  const examined = new ExaminedFeatures();
  for (const [t, one] of features.entries())
    examined.add(tickerHistory(prices[t]!, one, { start: days[0]!, end: days.at(-1)! }));
  const { tests } = examined;
  examined.tests += Math.round((times - 1) * tests);
  // A part of a market says nothing about all tickers together.
  const findings = examined.findings(new Set(), times === 1 ? undefined : new Map());
  return { findings, tests: examined.tests };
}

/** The restatement check on two days of a market in memory. */
export function restatementOf({ earlier, today }: TwoDays): readonly Finding[] {
  const prices = compared(earlier.prices.map(priceSeries), today.prices.map(priceSeries));
  const features = compared(earlier.features, today.features);
  const returns = { return_vanished: null, return_kept: null };
  return [...priceFindings(prices, returns), ...featureFindings(features, prices.rescaled)];
}

function compared(previous: readonly TickerSeries[], current: readonly TickerSeries[]): HistoryComparison {
  const comparison = new HistoryComparison();
  const named = (tickers: readonly TickerSeries[]) => new Map(tickers.map((one) => [one.ticker, one]));
  const [before, after] = [named(previous), named(current)];
  for (const ticker of new Set([...before.keys(), ...after.keys()])) {
    const pair = { previous: before.get(ticker), current: after.get(ticker) };
    comparison.add(Object.fromEntries(Object.entries(pair).filter(([, one]) => one !== undefined)));
  }
  return comparison;
}
