import { createHash } from "node:crypto";
import { resolve } from "node:path";
import { checkFolder } from "../blob/folder/output-folder.ts";
import { checkId } from "../blob/names.ts";
import { counted } from "../contract/errors/wording.ts";
import { inTurns } from "../contract/machine/pausable.ts";
import { formatDay } from "../contract/market/dates.ts";
import { sparseGapDays, sparsePrices, type TickerPrices } from "../contract/market/ticker-series.ts";
import { type BlobFormat, blobFiles, blobFormat, type FormatOptions } from "./blob-files.ts";
import { type CsvLimits, readPriceCsv } from "./csv/read-price-csv.ts";
import { FEATURE_NAMES, FEATURE_SET, featuresOf, unionOfDays } from "./features/feature-set.ts";
import { publishBlobs } from "./publish-blobs.ts";
import { type PrepareWindow, tickersOf, windowOf } from "./selection.ts";

export interface PrepareOptions extends FormatOptions {
  /** Part of both blobs' names; by default a digest of everything that they depend on. */
  readonly id?: string | undefined;
  /** `YYYY-MM-DD`. Earlier prices still feed the windows of the features. */
  readonly start?: string | undefined;
  readonly end?: string | undefined;
  readonly learningEnd?: string | undefined;
  readonly tickers?: readonly string[] | undefined;
}

export interface PrepareRequest {
  readonly csvPath: string;
  /** The blobs are written to its `data` folder. */
  readonly outFolder: string;
  readonly options?: PrepareOptions;
  /** Receives sentences about what was read. */
  readonly report?: (sentence: string) => void;
  readonly signal?: AbortSignal;
  readonly limits?: PrepareLimits;
}

export interface PrepareLimits extends CsvLimits {
  /** Limit of each blob in bytes; one more is too_large. */
  readonly blobBytes?: number;
}

export interface PreparedBlobs {
  readonly id: string;
  readonly featurePath: string;
  readonly dataExtractorPath: string;
  readonly tickers: readonly string[];
  readonly dates: number;
  readonly start: string;
  readonly end: string;
  readonly learningEnd?: string;
  readonly features: readonly string[];
  /** False if both blobs existed before, with the same bytes. */
  readonly written: boolean;
}

/**
 * Turns a price CSV into the two canonical input blobs: prices, and features that are known at the close of their date.
 * The same input and options give the same bytes under the same names.
 * @throws MucastError invalid_data (with the line) for a CSV that cannot be read without a guess; invalid_request for the options;
 * output_failed if the folder cannot be created (before the CSV is read), or if a blob of that name exists with other bytes.
 */
export async function preparePrices(request: PrepareRequest): Promise<PreparedBlobs> {
  const { csvPath, options = {}, report = () => undefined, limits = {} } = request;
  if (options.id !== undefined) checkId(options.id, "id");
  const format = blobFormat(options);
  const folder = resolve(request.outFolder, "data");
  await checkFolder(folder);
  const { tickers: priced, unpriced } = await readPriceCsv(csvPath, request.signal, limits);
  const tickers = tickersOf(options.tickers, priced);
  const window = windowOf(options, unionOfDays(tickers));
  const dates = unionOfDays(tickers).filter((day) => day >= window.start && day <= window.end);
  const [first, last] = [formatDay(dates[0]!), formatDay(dates.at(-1)!)];
  report(
    `${csvPath}: ${counted(tickers.length, "ticker")}, ${counted(dates.length, "date")} from ${first} to ${last}`,
  );
  if (options.tickers === undefined) reportUnpriced(unpriced, report);
  reportNonpositive(tickers, report);
  reportSparse(tickers, window, report);
  const id = options.id ?? digestOf(tickers, window, format);
  const features = await inTurns(featuresOf(tickers), request.signal);
  const { paths, written } = await publishBlobs(
    folder,
    blobFiles(id, format, { window, dates, tickers, features, columns: FEATURE_NAMES }),
    { signal: request.signal, limit: limits.blobBytes },
  );
  return {
    id,
    dataExtractorPath: paths[0]!,
    featurePath: paths[1]!,
    tickers: tickers.map(({ ticker }) => ticker),
    dates: dates.length,
    start: formatDay(window.start),
    end: formatDay(window.end),
    ...(window.learningEnd === undefined ? {} : { learningEnd: formatDay(window.learningEnd) }),
    features: FEATURE_NAMES,
    written,
  };
}

/** Reports tickers that neither blob has. */
function reportUnpriced(tickers: readonly string[], report: (sentence: string) => void): void {
  warnOf(
    tickers.map((ticker) => `${ticker} has no price and is left out`),
    report,
  );
}

function reportNonpositive(tickers: readonly TickerPrices[], report: (sentence: string) => void): void {
  for (const { ticker, prices } of tickers) {
    const count = prices.filter((price) => price <= 0).length;
    if (count === 0) continue;
    const [are, get] = count === 1 ? ["is", "its date gets"] : ["are", "their dates get"];
    report(`${ticker}: ${counted(count, "price")} ${are} zero or negative; ${get} no features`);
  }
}

const SENTENCES_SHOWN = 10;

/** Reports tickers that a job would refuse as `sparse_prices`; the blobs are still written. */
function reportSparse(
  tickers: readonly TickerPrices[],
  { start, end }: PrepareWindow,
  report: (sentence: string) => void,
): void {
  const sparse = tickers.flatMap(({ ticker, days, prices }) => {
    const gapDays = sparseGapDays(days.filter((day, i) => day >= start && day <= end && prices[i]! > 0));
    return gapDays === undefined ? [] : [`${ticker} ${sparsePrices(gapDays)}: no job can learn from it`];
  });
  warnOf(
    sparse.map((sentence) => `${sentence}; give daily or weekly prices`),
    report,
  );
}

/** The first ones, and how many more there are. */
function warnOf(sentences: readonly string[], report: (sentence: string) => void): void {
  for (const sentence of sentences.slice(0, SENTENCES_SHOWN)) report(`warning: ${sentence}`);
  const more = sentences.length - SENTENCES_SHOWN;
  if (more > 0) report(`warning: so it is with ${counted(more, "more ticker")}`);
}

/** 16 hexadecimal digits of a SHA-256 over everything that the bytes of the blobs depend on. */
function digestOf(tickers: readonly TickerPrices[], window: PrepareWindow, format: BlobFormat): string {
  const hash = createHash("sha256");
  hash.update(JSON.stringify([FEATURE_SET, window.start, window.end, window.learningEnd ?? null]));
  if (format.format === "parquet") hash.update(JSON.stringify([format.compression, format.float32]));
  for (const { ticker, days, prices } of tickers) {
    hash
      .update(JSON.stringify([ticker, days.length]))
      .update(days)
      .update(prices);
  }
  return hash.digest("hex").slice(0, 16);
}
