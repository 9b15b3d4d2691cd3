import type { Blob } from "../../blob/open-blob.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import { formatDay } from "../../contract/market/dates.ts";
import { priceSeries, type TickerSeries } from "../../contract/market/ticker-series.ts";
import type { AuditFacts } from "../../contract/output/audit-blob.ts";
import { finiteOrNull, mean } from "../../evaluate/statistics.ts";
import { readFeatures } from "../../ingest/read-blob.ts";
import { type PriceBlob, readPrices } from "../../ingest/read-prices.ts";
import { priceDates } from "../../panel/price-dates.ts";
import type { AuditInputs } from "../audit-inputs.ts";
import { type AuditCheck, type AuditContext, type CheckResult, notRun, ranCheck } from "../check.ts";
import { HistoryComparison } from "./history-comparison.ts";
import { featureFindings, type PastReturns, priceFindings } from "./restatement-findings.ts";
import { type TickerPair, tickerPairs } from "./ticker-pairs.ts";

/**
 * Compares an earlier day's blobs with today's: values on days that both cover must be the same. A rewritten value, a filled null or
 * a removed ticker was different when a forecast had to be made, and a model that learns from it looks ahead.
 */
export const restatement: AuditCheck = {
  name: "restatement",
  cost: () => "one reading of the earlier blobs and one of today's",
  run: compareDays,
};

const NO_EARLIER_BLOB =
  "no earlier blob was given: `previous_feature_url` (--previous-feature-url), `previous_data_extractor_url` (--previous-data-extractor-url)";

async function compareDays(
  { request, previous = {} }: AuditInputs,
  context: AuditContext,
): Promise<CheckResult> {
  const { featureUrl, dataExtractorUrl } = previous;
  const pairs = [featureUrl, dataExtractorUrl].filter((url) => url !== undefined).length;
  if (pairs === 0) return notRun(NO_EARLIER_BLOB);
  let prices: ComparedPrices | undefined;
  if (dataExtractorUrl !== undefined) {
    prices = await comparePriceBlobs(dataExtractorUrl, request.dataExtractorUrl, context);
    context.onStep?.(1, pairs);
  }
  let features: ComparedBlobs | undefined;
  if (featureUrl !== undefined) {
    features = await compareFeatureBlobs(featureUrl, request.featureUrl, context);
    context.onStep?.(pairs, pairs);
  }
  return resultOf(prices, features);
}

function resultOf(prices: ComparedPrices | undefined, features: ComparedBlobs | undefined): CheckResult {
  const priceFactors = prices?.comparison.rescaled ?? new Map();
  return ranCheck({
    tests: (prices?.comparison.columns ?? 0) + (features?.comparison.columns ?? 0),
    findings: [
      ...(prices === undefined ? [] : priceFindings(prices.comparison, prices.returns)),
      ...(features === undefined ? [] : featureFindings(features.comparison, priceFactors)),
    ],
    facts: { data_extractor: prices?.facts ?? null, feature: features?.facts ?? null },
  });
}

/** An earlier day's blob and today's, compared to the last byte. */
interface ComparedBlobs {
  readonly comparison: HistoryComparison;
  readonly facts: AuditFacts;
}

interface ComparedPrices extends ComparedBlobs {
  readonly returns: PastReturns;
}

/** Names of features in the facts. */
const MAX_NAMES = 10;

/**
 * Compares two feature blobs in one reading of both, side by side.
 * @throws MucastError of the blobs; invalid_data if the earlier one ends later.
 */
async function compareFeatureBlobs(
  previousUrl: string,
  currentUrl: string,
  context: AuditContext,
): Promise<ComparedBlobs> {
  return withBlobs([previousUrl, currentUrl], context, async (previous, current) => {
    const reading = readingOf(context);
    const comparison = new HistoryComparison();
    const pairs = tickerPairs(readFeatures(previous, reading), readFeatures(current, reading));
    for await (const pair of pairs) comparison.add(pair);
    return { comparison, facts: factsOf(comparison, previous, current) };
  });
}

/**
 * Compares the prices of two data-extraction blobs, on the dates with a price.
 * @throws MucastError of the blobs; invalid_data if the earlier one ends later.
 */
async function comparePriceBlobs(
  previousUrl: string,
  currentUrl: string,
  context: AuditContext,
): Promise<ComparedPrices> {
  return withBlobs([previousUrl, currentUrl], context, async (previous, current) => {
    const before = await readPrices(previous, readingOf(context));
    const after = await readPrices(current, readingOf(context));
    const compared = compareEvery(before, after);
    return { ...compared, facts: factsOf(compared.comparison, previous, current) };
  });
}

function compareEvery(before: PriceBlob, after: PriceBlob) {
  const comparison = new HistoryComparison();
  const returns = { vanished: [] as number[], kept: [] as number[] };
  for (const pair of pricePairs(before, after)) {
    comparison.add(pair);
    const { previous, current } = pair;
    const past = previous === undefined ? undefined : pastReturn(previous.values);
    if (past !== undefined) returns[current === undefined ? "vanished" : "kept"].push(past);
  }
  const meanOf = (values: readonly number[]) => finiteOrNull(mean(Float64Array.from(values)));
  return { comparison, returns: { vanished: meanOf(returns.vanished), kept: meanOf(returns.kept) } };
}

function* pricePairs(before: PriceBlob, after: PriceBlob): Generator<TickerPair> {
  const there = new Set(after.tickers);
  for (const ticker of before.tickers) {
    const previous = pricesOf(before, ticker);
    yield there.delete(ticker) ? { previous, current: pricesOf(after, ticker) } : { previous };
  }
  for (const ticker of there) yield { current: pricesOf(after, ticker) };
}

const EVERY_DAY = { start: Number.NEGATIVE_INFINITY, end: Number.POSITIVE_INFINITY };

function pricesOf(blob: PriceBlob, ticker: string): TickerSeries {
  return priceSeries({ ticker, ...priceDates(blob.load(ticker), EVERY_DAY) });
}

/** Log-return over the whole history; undefined for fewer than two prices. */
function pastReturn(prices: Float64Array): number | undefined {
  return prices.length < 2 ? undefined : Math.log(prices.at(-1)! / prices[0]!);
}

async function withBlobs<T>(
  [previousUrl, currentUrl]: readonly [string, string],
  { blobs }: AuditContext,
  body: (previous: Blob, current: Blob) => Promise<T>,
): Promise<T> {
  const previous = await blobs.open(previousUrl);
  try {
    const current = await blobs.open(currentUrl);
    try {
      return await body(previous, current);
    } finally {
      await current.close();
    }
  } finally {
    await previous.close();
  }
}

function readingOf({ signal, policy, workFolder }: AuditContext) {
  return { workFolder, signal, limits: policy.limits };
}

/** The extent of the comparison. @throws MucastError invalid_data if the earlier blob ends later. */
function factsOf(comparison: HistoryComparison, previous: Blob, current: Blob): AuditFacts {
  const { calendar, tickers, columns, values, features, added } = comparison;
  requireOrder(comparison, previous, current);
  let [changed, rounded, warmUp] = [0, 0, 0];
  for (const tally of features.values()) {
    rounded += tally.rounded;
    warmUp += tally.warmUp;
    for (const kind of tally.kinds.values()) changed += kind.values;
  }
  return {
    tickers,
    columns,
    values,
    changed,
    rounded,
    warm_up: warmUp,
    previous_end: dateOf(calendar.previous.last),
    current_end: dateOf(calendar.current.last),
    previous_start: dateOf(calendar.previous.first),
    current_start: dateOf(calendar.current.first),
    features_added: added.size,
    added: [...added].slice(0, MAX_NAMES),
  };
}

function requireOrder({ calendar }: HistoryComparison, previous: Blob, current: Blob): void {
  const [last, end] = [calendar.previous.last, calendar.current.last];
  if (last <= end || !Number.isFinite(end)) return;
  throw new MucastError(
    "invalid_data",
    `the earlier blob ${previous.name} ends on ${formatDay(last)}, after today's ${current.name}, which ends on ` +
      `${formatDay(end)}; were the two blobs swapped?`,
    { source: previous.name, end: formatDay(last), current: current.name, current_end: formatDay(end) },
  );
}

function dateOf(day: number): string | null {
  return Number.isFinite(day) ? formatDay(day) : null;
}
