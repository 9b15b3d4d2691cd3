import { MucastError } from "../../contract/errors/errors.ts";
import { formatDay } from "../../contract/market/dates.ts";
import { priceSeries, type TickerSeries } from "../../contract/market/ticker-series.ts";
import type { AuditFacts } from "../../contract/output/audit-blob.ts";
import { finiteOrNull, mean } from "../../evaluate/statistics.ts";
import type { PriceBlob } from "../../ingest/read-prices.ts";
import { priceDates } from "../../panel/price-dates.ts";
import type { AuditedBlobs } from "../audited-blobs.ts";
import { type AuditCheck, type Finding, notRun, ranCheck } from "../check.ts";
import { HistoryComparison, type TickerPair } from "./history-comparison.ts";
import { featureFindings, type PastReturns, priceFindings } from "./restatement-findings.ts";

/**
 * Compares an earlier day's blobs with today's: values on days that both cover must be the same. A rewritten value, a filled null or
 * a removed ticker was different when a forecast had to be made, and a model that learns from it looks ahead.
 */
export const restatement: AuditCheck = {
  name: "restatement",
  cost: () => "one reading of the earlier blobs and one of today's",
  async run({ request, previous = {} }, context) {
    const { featureUrl, dataExtractorUrl } = previous;
    const pairs = [featureUrl, dataExtractorUrl].filter((url) => url !== undefined).length;
    if (pairs === 0) {
      return notRun(
        "no earlier blob was given: `previous_feature_url` (--previous-feature-url), `previous_data_extractor_url` (--previous-data-extractor-url)",
      );
    }
    const prices = new HistoryComparison();
    const features = new HistoryComparison();
    const findings: Finding[] = [];
    const facts: Record<"data_extractor" | "feature", AuditFacts | null> = {
      data_extractor: null,
      feature: null,
    };
    const { blobs } = context;
    if (dataExtractorUrl !== undefined) {
      const returns = await comparePrices(prices, dataExtractorUrl, request.dataExtractorUrl, blobs);
      findings.push(...priceFindings(prices, returns));
      facts.data_extractor = factsOf(prices, dataExtractorUrl, request.dataExtractorUrl, blobs);
      context.onStep?.(1, pairs);
    }
    if (featureUrl !== undefined) {
      const [before, after] = [featureUrl, request.featureUrl].map((url) => blobs.readFeatures(url));
      for await (const pair of pairTickers(before!, after!)) features.add(pair);
      findings.push(...featureFindings(features, prices.rescaled));
      facts.feature = factsOf(features, featureUrl, request.featureUrl, blobs);
      context.onStep?.(pairs, pairs);
    }
    return ranCheck({ tests: prices.columns + features.columns, findings, facts });
  },
};

/** Compares the prices of two data-extraction blobs, on the dates with a price. */
async function comparePrices(
  comparison: HistoryComparison,
  previous: string,
  current: string,
  blobs: AuditedBlobs,
): Promise<PastReturns> {
  const { prices: before } = await blobs.readPrices(previous);
  const { prices: after } = await blobs.readPrices(current);
  const returns = { vanished: [] as number[], kept: [] as number[] };
  const there = new Set(after.tickers);
  for (const ticker of before.tickers) {
    const earlier = pricesOf(before, ticker);
    const isKept = there.delete(ticker);
    comparison.add(isKept ? { previous: earlier, current: pricesOf(after, ticker) } : { previous: earlier });
    const { values } = earlier;
    if (values.length > 1) returns[isKept ? "kept" : "vanished"].push(Math.log(values.at(-1)! / values[0]!));
  }
  for (const ticker of there) comparison.add({ current: pricesOf(after, ticker) });
  const meanOf = (values: readonly number[]) => finiteOrNull(mean(Float64Array.from(values)));
  return { return_vanished: meanOf(returns.vanished), return_kept: meanOf(returns.kept) };
}

const EVERY_DAY = { start: Number.NEGATIVE_INFINITY, end: Number.POSITIVE_INFINITY };

function pricesOf(blob: PriceBlob, ticker: string): TickerSeries {
  return priceSeries({ ticker, ...priceDates(blob.load(ticker), EVERY_DAY) });
}

/**
 * Reads two feature blobs side by side and pairs their tickers. If both have the same order, two tickers are in memory; in another
 * order, those that wait for their other half.
 */
export async function* pairTickers(
  previous: AsyncIterable<TickerSeries>,
  current: AsyncIterable<TickerSeries>,
): AsyncGenerator<TickerPair, void, void> {
  const waiting = new Map<string, TickerPair>();
  const open = new Map([
    ["previous", previous[Symbol.asyncIterator]()],
    ["current", current[Symbol.asyncIterator]()],
  ]);
  const sides = [...open.values()];
  try {
    while (open.size > 0)
      for (const [side, tickers] of open) {
        const { value: series } = await tickers.next();
        if (series === undefined) open.delete(side);
        else {
          const pair = { ...waiting.get(series.ticker), [side]: series };
          if (waiting.delete(series.ticker)) yield pair;
          else waiting.set(series.ticker, pair);
        }
      }
    yield* waiting.values();
  } finally {
    for (const tickers of sides) await tickers.return?.();
  }
}

/** The extent of the comparison. @throws MucastError invalid_data if the earlier blob ends later. */
function factsOf(
  comparison: HistoryComparison,
  previous: string,
  current: string,
  blobs: AuditedBlobs,
): AuditFacts {
  const { tickers, columns, values, features, added, harmless, spans } = comparison;
  const dateOf = (day: number) => (Number.isFinite(day) ? formatDay(day) : null);
  const [end, currentEnd] = [dateOf(spans.previous.last), dateOf(spans.current.last)];
  if (currentEnd !== null && spans.previous.last > spans.current.last) {
    const [earlier, today] = [blobs.nameOf(previous), blobs.nameOf(current)];
    throw new MucastError(
      "invalid_data",
      `the earlier blob ${earlier} ends on ${end}, after today's ${today}, which ends on ${currentEnd}; were the two blobs swapped?`,
      { source: earlier, end, current: today, current_end: currentEnd },
    );
  }
  const tallies = [...features.values()].flatMap((kinds) => [...kinds.values()]);
  return {
    tickers,
    columns,
    values,
    changed: tallies.reduce((sum, tally) => sum + tally.values, 0),
    ...harmless,
    previous_end: end,
    current_end: currentEnd,
    previous_start: dateOf(spans.previous.first),
    current_start: dateOf(spans.current.first),
    features_added: added.size,
    added: [...added].slice(0, 10),
  };
}
