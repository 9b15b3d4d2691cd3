import { basename } from "node:path";
import { isRemoteUrl } from "../../blob/location.ts";
import { type Blob, openBlob } from "../../blob/open-blob.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import { invalidRequest } from "../../contract/errors/faults.ts";
import { type Day, formatDay } from "../../contract/market/dates.ts";
import {
  compareCodePoints,
  type RequestedWindow,
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
import { type Listed, unpricedDates } from "./job-warnings.ts";
import { now } from "./timings.ts";

/** A ticker's panel, or its failure with what was read: a later cut may give it enough history. */
export type ReadPanel = TickerPanel | (Failure & { readonly input?: TickerInput });

/** Both blobs: the prices have been read, the features are ready to be streamed, once, by `pairs` or `panels`. */
export type Inputs = Awaited<ReturnType<typeof openInputs>>;

/** Opens both blobs and reads the prices. @param delay of the labels. @throws MucastError errors of the blobs and of the window. */
export async function openInputs(
  request: JobRequest,
  { policy, report, signal }: JobContext,
  workFolder: string,
  delay: number,
) {
  const options = { signal, blobUrl: request.recorded?.blobUrl ?? request.blobUrl };
  const reading = { workFolder, signal, limits: policy.limits };
  const blobs: Blob[] = [];
  try {
    for (const url of [request.dataExtractorUrl, request.featureUrl])
      blobs.push(await openBlob(url, policy, options));
    const [priceBlob, featureBlob] = blobs as [Blob, Blob];
    const [countedPrices, countedFeatures] = countBytes(blobs, report);
    const prices = await readPrices(countedPrices!, reading);
    const requested = jobWindow(prices.window, request.window, priceBlob.name);
    const { window, warnings } = resolveWindow(requested, loadAll(prices), priceBlob.name);
    const read = readFeatures(countedFeatures!, reading);
    return describeInputs({ ...window, delay }, warnings, prices, priceBlob, featureBlob, read);
  } catch (error) {
    // The stream of prices is still open if the signal aborts before the first piece is read.
    await Promise.all(blobs.map((blob) => blob.close()));
    throw error;
  }
}

function* loadAll(prices: PriceBlob): Generator<TickerPrices> {
  for (const ticker of prices.tickers) yield prices.load(ticker);
}

function describeInputs(
  window: ResolvedWindow,
  warnings: readonly Warning[],
  prices: PriceBlob,
  priceBlob: Blob,
  featureBlob: Blob,
  read: AsyncIterable<TickerFeatures>,
) {
  const priced = new Set(prices.tickers);
  const featured = new Set<string>();
  /** Of the prices of tickers without enough history. */
  const short: Warning[] = [];
  const unpriced: Listed[] = [];
  type Named = { readonly ticker?: string | undefined };
  const byTicker = (a: Named, b: Named) => compareCodePoints(a.ticker!, b.ticker!);
  const unpaired = (): Warning[] =>
    [...priced.symmetricDifference(featured)]
      .sort(compareCodePoints)
      .map((ticker) =>
        priced.has(ticker)
          ? { code: "no_features", ticker, message: `${ticker} is in the data-extraction blob only.` }
          : { code: "no_prices", ticker, message: `${ticker} is in the feature blob only.` },
      );
  /** The dates in the window with a price of any ticker, ascending. */
  const tradedDays = () => {
    const days = new Set<Day>();
    for (const each of loadAll(prices)) for (const day of priceDates(each, window).days) days.add(day);
    return Int32Array.from(days).sort();
  };
  /** One ticker at a time, in the feature blob's order, for tickers in both blobs. */
  async function* pairs() {
    for await (const features of read) {
      featured.add(features.ticker);
      if (priced.has(features.ticker)) yield { prices: prices.load(features.ticker), features };
    }
  }
  const digestOf = (blob: Blob) => ({
    /** A URL without its query string, or the name of a local file without its folder. */
    name: isRemoteUrl(blob.name) ? blob.name : basename(blob.name),
    sha256: blob.digest(),
  });
  return {
    window,
    warnings,
    asOf: asOf(loadAll(prices), window),
    priceTickers: priced.size,
    pairs,
    /** The same as panels; a ticker without enough history yields its failure. */
    async *panels(): AsyncGenerator<ReadPanel> {
      let traded: Int32Array | undefined;
      for await (const { prices: own, features } of pairs()) {
        const { days, nonpositive } = priceDates(own, window);
        if (unpricedDates(features, days).length > 0) {
          traded ??= tradedDays();
          unpriced.push(...unpricedDates(features, traded));
        }
        const { ticker } = features;
        const panel = buildPanel({ ticker, prices: own, features, window });
        if ("code" in panel) short.push(...nonpositivePrices(ticker, nonpositive));
        yield panel;
      }
    },
    /** Of the tickers in both blobs, at their price dates from a day on; complete once `panels` has ended, until `close`. */
    exposures(first: Day): ReadonlyMap<string, TickerExposures> {
      const market = marketReturns(loadAll(prices), window);
      const paired = prices.tickers.filter((ticker) => featured.has(ticker));
      return new Map(
        paired.map((ticker) => [ticker, exposuresFrom(first, prices.load(ticker), window, market)]),
      );
    },
    /** Tickers in only one of the blobs, and prices of those without enough history; complete once `panels` has ended. */
    unused: (): readonly Warning[] => [...unpaired(), ...short.toSorted(byTicker)],
    /** Tickers whose features are on dates without a price of any ticker; complete once `panels` has ended. */
    unpricedDates: (): readonly Listed[] => unpriced.toSorted(byTicker),
    digests: () => ({ feature: digestOf(featureBlob), dataExtractor: digestOf(priceBlob) }),
    close: () => featureBlob.close(),
  };
}

export async function withInputs<T>(
  request: JobRequest,
  context: JobContext,
  workFolder: string,
  delay: number,
  body: (inputs: Inputs) => Promise<T>,
): Promise<T> {
  const start = now();
  const inputs = await openInputs(request, context, workFolder, delay);
  context.onTiming?.({ name: "read prices", start, end: now() });
  try {
    return await body(inputs);
  } finally {
    await inputs.close();
  }
}

/** The panel of a ticker, or its failure if its fit rows are too few at the cut. */
function buildPanel(input: TickerInput): ReadPanel {
  try {
    return buildTickerPanel(input);
  } catch (error) {
    if (!(error instanceof MucastError)) throw error;
    const { code, message } = error;
    if (code !== "insufficient_history" && code !== "sparse_prices") throw error;
    return { ticker: input.ticker, code, message, input };
  }
}

/**
 * The panel of a ticker with too few fit rows at the cut, as of the first later date that gives it enough. Only rows known at that date decide
 * which features are empty. Undefined if there is no such date.
 */
export function buildLatePanel(input: TickerInput): TickerPanel | undefined {
  const { window, prices } = input;
  for (const cut of priceDates(prices, window).days.filter((day) => day > window.cut)) {
    const panel = buildPanel({ ...input, window: { ...window, cut } });
    if (!("code" in panel)) return panel;
  }
  return undefined;
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

/** The bounds of a window, by their name in a payload and in errors about a blob. */
const BOUNDS = [
  ["start", "start", "start"],
  ["end", "end", "end"],
  ["learningEnd", "learning_end", "Learning_end"],
] as const;

/**
 * The window of a blob, with the bounds that the request adds.
 * @param source the blob's name, for errors.
 * @throws MucastError invalid_request with every bound that differs from the blob's own.
 */
export function jobWindow(
  own: RequestedWindow,
  requested: RequestedWindow | undefined,
  source: string,
): RequestedWindow {
  const faults = BOUNDS.flatMap(([bound, member, name]) => {
    const [asked, found] = [requested?.[bound], own[bound]];
    if (asked === undefined || found === undefined || asked === found) return [];
    const message = `is ${formatDay(asked)}, but ${name} in ${source} is ${formatDay(found)}`;
    return [{ path: member, message }];
  });
  if (faults.length > 0) throw invalidRequest(faults);
  return { ...own, ...requested };
}

export function recordedBounds(requested: RequestedWindow) {
  const bounds = BOUNDS.map(([bound, member]) => {
    const day = requested[bound];
    return [member, day === undefined ? null : formatDay(day)] as const;
  });
  return Object.fromEntries(bounds);
}
