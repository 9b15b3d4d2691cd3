import { basename } from "node:path";
import { isRemoteUrl } from "../../blob/location.ts";
import { type Blob, openBlob } from "../../blob/open-blob.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import type { Day } from "../../contract/market/dates.ts";
import {
  compareCodePoints,
  type TickerExposures,
  type TickerFeatures,
  type TickerPrices,
} from "../../contract/market/ticker-series.ts";
import type { Report } from "../../contract/output/job-events.ts";
import type { Failure } from "../../contract/problems/problem.ts";
import type { Warning } from "../../contract/problems/warnings.ts";
import { readFeatures } from "../../ingest/read-blob.ts";
import { type PriceBlob, readPrices } from "../../ingest/read-prices.ts";
import { asOf } from "../../panel/as-of.ts";
import { priceDates } from "../../panel/price-dates.ts";
import { exposuresFrom, marketReturns } from "../../panel/price-exposures.ts";
import { nonpositivePrices } from "../../panel/rows.ts";
import { buildTickerPanel, type TickerInput, type TickerPanel } from "../../panel/ticker-panel.ts";
import { type ResolvedWindow, resolveWindow } from "../../panel/window.ts";
import type { JobContext, JobRequest } from "./job.ts";
import { jobWindow } from "./job-window.ts";
import { type Listed, unpricedDates } from "./listed-warnings.ts";

/** Both blobs: the prices have been read, the features are ready to be streamed. */
export interface Inputs {
  readonly window: ResolvedWindow;
  /** Last price date of any ticker in the window. */
  readonly asOf: Day;
  readonly priceTickers: number;
  readonly warnings: readonly Warning[];
  /**
   * Prices and features of one ticker at a time, in the feature blob's order, for tickers in both blobs. Use either this or `panels`, once.
   */
  pairs(): AsyncGenerator<TickerPair>;
  /** One ticker at a time, in the feature blob's order; a ticker without enough history yields its failure. */
  panels(): AsyncGenerator<ReadPanel>;
  /** Of the tickers in both blobs, at their price dates from a day on; complete once `panels` has ended, until `close`. */
  exposures(first: Day): ReadonlyMap<string, TickerExposures>;
  /** Tickers in only one of the blobs, and prices of those without enough history; complete once `panels` has ended. */
  unused(): readonly Warning[];
  /** Tickers whose features are on dates without a price of any ticker; complete once `panels` has ended. */
  unpricedDates(): readonly Listed[];
  /** Name and digest of each blob, for provenance; available once `panels` has ended. */
  digests(): { readonly feature: InputDigest; readonly dataExtractor: InputDigest };
  close(): Promise<void>;
}

/** A ticker's panel, or its failure with what was read: a later cut may give it enough history. */
export type ReadPanel = TickerPanel | (Failure & { readonly input?: TickerInput });

interface TickerPair {
  readonly prices: TickerPrices;
  readonly features: TickerFeatures;
}

interface InputDigest {
  /** A URL without its query string, or the name of a local file without its folder. */
  readonly name: string;
  readonly sha256: string;
}

/** Opens both blobs and reads the prices. @param delay of the labels. @throws MucastError errors of the blobs and of the window. */
export async function openInputs(
  request: JobRequest,
  { policy, report, signal }: JobContext,
  workFolder: string,
  delay: number,
): Promise<Inputs> {
  const options = { signal, blobUrl: request.recorded?.blobUrl ?? request.blobUrl };
  const reading = { workFolder, signal, limits: policy.limits };
  const priceBlob = await openBlob(request.dataExtractorUrl, policy, options);
  const featureBlob = await openBlob(request.featureUrl, policy, options).catch(async (error: unknown) => {
    await priceBlob.close();
    throw error;
  });
  const counted = countBytes([priceBlob, featureBlob], report);
  try {
    const prices = await readPrices(counted[0]!, reading);
    const priced = new Set(prices.tickers);
    const featured = new Set<string>();
    const short: Warning[] = [];
    const { window: dates, ...resolved } = windowFromPrices(prices, request.window, priceBlob.name);
    const window = { ...dates, delay };
    const unpriced: Listed[] = [];
    let traded: Int32Array | undefined;
    async function* pairs() {
      for await (const features of readFeatures(counted[1]!, reading)) {
        featured.add(features.ticker);
        if (priced.has(features.ticker)) yield { prices: prices.load(features.ticker), features };
      }
    }
    return {
      ...resolved,
      window,
      priceTickers: priced.size,
      pairs,
      async *panels() {
        for await (const pair of pairs()) {
          const own = priceDates(pair.prices, window).days;
          if (unpricedDates(pair.features, own).length > 0) {
            traded ??= tradedDays(everyPrice(prices), window);
            unpriced.push(...unpricedDates(pair.features, traded));
          }
          const panel = panelOf(pair, window);
          if ("code" in panel)
            short.push(...nonpositivePrices(panel.ticker, priceDates(pair.prices, window).nonpositive));
          yield panel;
        }
      },
      exposures(first) {
        const market = marketReturns(everyPrice(prices), window);
        const found = new Map<string, TickerExposures>();
        for (const ticker of prices.tickers) {
          if (!featured.has(ticker)) continue;
          found.set(ticker, exposuresFrom(first, prices.load(ticker), window, market));
        }
        return found;
      },
      unused: () => [
        ...unpairedTickers(priced, featured),
        ...short.sort((a, b) => compareCodePoints(a.ticker!, b.ticker!)),
      ],
      unpricedDates: () => unpriced.toSorted((a, b) => compareCodePoints(a.ticker, b.ticker)),
      digests: () => ({ feature: digestOf(featureBlob), dataExtractor: digestOf(priceBlob) }),
      close: () => featureBlob.close(),
    };
  } catch (error) {
    // The stream of prices is still open if the signal aborts before the first piece is read.
    await Promise.all([priceBlob.close(), featureBlob.close()]);
    throw error;
  }
}

/** Window and date of the forecasts, from the prices alone. */
function windowFromPrices(
  prices: PriceBlob,
  requested: JobRequest["window"],
  name: string,
): Pick<Inputs, "window" | "asOf" | "warnings"> {
  const window = jobWindow(prices.window, requested, name);
  const resolved = resolveWindow(window, everyPrice(prices), name);
  return { ...resolved, asOf: asOf(everyPrice(prices), resolved.window) };
}

function panelOf({ prices, features }: TickerPair, window: ResolvedWindow): ReadPanel {
  const { ticker } = features;
  const input = { ticker, prices, features, window };
  try {
    return buildTickerPanel(input);
  } catch (error) {
    if (!isShort(error)) throw error;
    return { ticker, code: error.code, message: error.message, input };
  }
}

/** Whether an error removes a ticker that may have enough fit rows at a later cut. */
export function isShort(error: unknown): error is MucastError {
  return error instanceof MucastError && ["insufficient_history", "sparse_prices"].includes(error.code);
}

/** The dates in the window with a price of any ticker, ascending. */
function tradedDays(prices: Iterable<TickerPrices>, window: ResolvedWindow): Int32Array {
  const days = new Set<Day>();
  for (const each of prices) for (const day of priceDates(each, window).days) days.add(day);
  return Int32Array.from(days).sort();
}

function* everyPrice(prices: PriceBlob): Generator<TickerPrices> {
  for (const ticker of prices.tickers) yield prices.load(ticker);
}

function digestOf(blob: Blob): InputDigest {
  const name = isRemoteUrl(blob.name) ? blob.name : basename(blob.name);
  return { name, sha256: blob.digest() };
}

/** Wraps the blobs so that reading them reports progress, in bytes after decompression. */
function countBytes(blobs: readonly Blob[], report: Report) {
  let done = 0;
  return blobs.map(({ name, chunks }) => ({
    name,
    chunks: (async function* () {
      for await (const chunk of chunks) {
        done += chunk.length;
        report({ kind: "progress", stage: "read", done });
        yield chunk;
      }
    })(),
  }));
}

/** Warns about each ticker that is in only one of the blobs. @returns a warning for each, in ascending code-point order. */
export function unpairedTickers(
  priceTickers: Iterable<string>,
  featureTickers: Iterable<string>,
): readonly Warning[] {
  const priced = new Set(priceTickers);
  const featured = new Set(featureTickers);
  return [...priced.symmetricDifference(featured)]
    .sort(compareCodePoints)
    .map((ticker) =>
      priced.has(ticker)
        ? { code: "no_features", ticker, message: `${ticker} is in the data-extraction blob only.` }
        : { code: "no_prices", ticker, message: `${ticker} is in the feature blob only.` },
    );
}
