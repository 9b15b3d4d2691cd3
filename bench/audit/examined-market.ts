import type { Finding } from "../../src/audit/check.ts";
import { examineTicker } from "../../src/audit/foresight/foresight.ts";
import { foresightFindings } from "../../src/audit/foresight/foresight-findings.ts";
import { pooledSuspects } from "../../src/audit/foresight/pooled/pooled-suspects.ts";
import { Suspects } from "../../src/audit/foresight/suspects.ts";
import { tickerHistory } from "../../src/audit/foresight/ticker-history.ts";
import { HistoryComparison } from "../../src/audit/restatement/history-comparison.ts";
import { featureFindings, priceFindings } from "../../src/audit/restatement/restatement-findings.ts";
import { priceSeries, type TickerSeries } from "../../src/contract/market/ticker-series.ts";
import type { Market, TwoDays } from "./clean-markets.ts";

/** The foresight check on a market in memory. @param times how many times as many tests the whole market has as this part of it. */
export function foresightOf(
  { prices, features }: Market,
  times = 1,
): {
  readonly findings: readonly Finding[];
  readonly suspects: Suspects;
} {
  const days = prices[0]!.days;
  const window = { start: days[0]!, end: days.at(-1)! };
  const suspects = new Suspects();
  for (const [t, one] of features.entries()) {
    examineTicker(tickerHistory(prices[t]!, one, window), window, suspects);
  }
  suspects.countTests(Math.round((times - 1) * suspects.tests));
  // A part of a market says nothing about all tickers together.
  const pooled = times === 1 ? pooledSuspects(suspects.pooled.tests()) : [];
  return { findings: foresightFindings(suspects.standing(), pooled, suspects.needed, new Set()), suspects };
}

/** The restatement check on two days of a market in memory. */
export function restatementOf({ earlier, today }: TwoDays): readonly Finding[] {
  const prices = compared(earlier.prices.map(priceSeries), today.prices.map(priceSeries));
  const features = compared(earlier.features, today.features);
  const returns = { vanished: null, kept: null };
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
