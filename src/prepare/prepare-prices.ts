import { createHash } from "node:crypto";
import { resolve } from "node:path";
import { checkFolder } from "../blob/folder/output-folder.ts";
import { checkId } from "../blob/names.ts";
import { MucastError } from "../contract/errors/errors.ts";
import { counted } from "../contract/errors/wording.ts";
import { inTurns } from "../contract/machine/pausable.ts";
import { formatDay } from "../contract/market/dates.ts";
import { sparseGapDays, sparsePrices, type TickerPrices } from "../contract/market/ticker-series.ts";
import { type BlobFormat, blobFiles, blobFormat, type FormatOptions } from "./blob-files.ts";
import { type FeatureTable, readFeatureFile } from "./feature-file.ts";
import { FEATURE_NAMES, FEATURE_SET, featuresOf, unionOfDays } from "./features/feature-set.ts";
import { joinedFeatures, unusedParts } from "./features/join-features.ts";
import type { FileLimits } from "./file-limits.ts";
import { readPriceFile } from "./price-file.ts";
import { publishBlobs } from "./publish-blobs.ts";
import { type PrepareWindow, tickersOf, windowOf } from "./selection.ts";
import { checkNotFuture, loneDates } from "./unlikely-dates.ts";

export interface PrepareOptions extends FormatOptions {
  /** Part of both blobs' names; by default a digest of everything that they depend on. */
  readonly id?: string | undefined;
  /** `YYYY-MM-DD`. Earlier prices still feed the windows of the features. */
  readonly start?: string | undefined;
  readonly end?: string | undefined;
  readonly learningEnd?: string | undefined;
  readonly tickers?: readonly string[] | undefined;
  /** Leaves out the features that prepare computes; needs a table of features. */
  readonly onlyFeatures?: boolean | undefined;
}

export interface PrepareRequest {
  /** A price CSV, or a Parquet table of prices. */
  readonly csvPath: string;
  /** A table of further features, CSV or Parquet. */
  readonly featuresPath?: string | undefined;
  /** The blobs are written to its `data` folder. */
  readonly outFolder: string;
  readonly options?: PrepareOptions;
  /** Receives sentences about what was read. */
  readonly report?: (sentence: string) => void;
  /** Called while the files are read and the blobs are written, many times a second. */
  readonly onProgress?: (progress: PrepareProgress) => void;
  readonly signal?: AbortSignal;
  readonly limits?: PrepareLimits;
}

/** Bytes of the files that were read, or tickers whose features are in the blob. */
export type PrepareProgress =
  | { readonly stage: "read"; readonly done: number }
  | { readonly stage: "write"; readonly done: number; readonly total: number };

export interface PrepareLimits extends Omit<FileLimits, "onBytes"> {
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
 * Turns prices into the two input blobs: prices, and features that are known at the close of their date, with those of a table if there is
 * one.
 * The same input and options give the same bytes under the same names.
 * @throws MucastError invalid_data (with the line) for a file that cannot be read without a guess, or with a date in the future; invalid_request for the options;
 * output_failed if the folder cannot be created (before a file is read), or if a blob of that name exists with other bytes.
 */
export async function preparePrices(request: PrepareRequest): Promise<PreparedBlobs> {
  const { csvPath, options = {}, report = () => undefined, signal } = request;
  const { onProgress = () => undefined } = request;
  let bytes = 0;
  const onBytes = (count: number) => {
    bytes += count;
    onProgress({ stage: "read", done: bytes });
  };
  const limits = { ...request.limits, onBytes };
  if (options.id !== undefined) checkId(options.id, "id");
  const format = blobFormat(options);
  const computed = computedNames(request);
  const folder = resolve(request.outFolder, "data");
  await checkFolder(folder);
  const { unpriced, window: bounds, lineOf, ...read } = await readPriceFile(csvPath, signal, limits);
  const tickers = tickersOf(options.tickers, read.tickers);
  const window = windowOf(options, unionOfDays(tickers), { ...bounds, source: csvPath });
  const dates = unionOfDays(tickers).filter((day) => day >= window.start && day <= window.end);
  checkNotFuture(dates, { source: csvPath, lineOf });
  const [first, last] = [formatDay(dates[0]!), formatDay(dates.at(-1)!)];
  report(
    `${csvPath}: ${counted(tickers.length, "ticker")}, ${counted(dates.length, "date")} from ${first} to ${last}`,
  );
  warnOf(loneDates(dates, { source: csvPath, lineOf }), report);
  if (options.tickers === undefined) reportUnpriced(unpriced, report);
  reportNonpositive(tickers, report);
  reportSparse(tickers, window, report);
  const table = await tableOf({ ...request, limits }, computed);
  if (table !== undefined) {
    const unused = unusedParts(table, tickers, dates, options.tickers === undefined);
    warnOf(unused.tickers, report);
    warnOf(unused.rows, report);
    warnOf(unused.features, report, "feature");
  }
  const id = options.id ?? digestOf(tickers, window, format, table, computed);
  const own = computed.length > 0 ? await inTurns(featuresOf(tickers), signal) : undefined;
  const features = counting(table === undefined ? own! : joinedFeatures(own, table, tickers, dates), (done) =>
    onProgress({ stage: "write", done, total: tickers.length }),
  );
  const columns = [...computed, ...(table?.columns ?? [])];
  const { paths, written } = await publishBlobs(
    folder,
    blobFiles(id, format, { window, dates, tickers, features, columns }),
    { signal, limit: limits.blobBytes },
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
    features: columns,
    written,
  };
}

/** @param onCount called with the number of items that have been taken. */
function* counting<T>(items: Iterable<T>, onCount: (count: number) => void): Generator<T> {
  let count = 0;
  for (const item of items) {
    yield item;
    count += 1;
    onCount(count);
  }
}

/** The features that prepare computes. @throws MucastError invalid_request if there would be no feature. */
function computedNames({ featuresPath, options }: PrepareRequest): readonly string[] {
  if (!options?.onlyFeatures) return FEATURE_NAMES;
  if (featuresPath !== undefined) return [];
  const message = "only_features: needs a table of features";
  throw new MucastError("invalid_request", message, { path: "only_features" });
}

async function tableOf(
  {
    featuresPath,
    signal,
    limits,
  }: Pick<PrepareRequest, "featuresPath" | "signal"> & {
    readonly limits: FileLimits;
  },
  computed: readonly string[],
): Promise<FeatureTable | undefined> {
  return featuresPath === undefined ? undefined : readFeatureFile(featuresPath, computed, signal, limits);
}

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
function warnOf(
  sentences: readonly string[],
  report: (sentence: string) => void,
  what: "ticker" | "feature" = "ticker",
): void {
  for (const sentence of sentences.slice(0, SENTENCES_SHOWN)) report(`warning: ${sentence}`);
  const more = sentences.length - SENTENCES_SHOWN;
  if (more > 0) report(`warning: so it is with ${counted(more, `more ${what}`)}`);
}

/** 16 hexadecimal digits of a SHA-256 over everything that the bytes of the blobs depend on. */
function digestOf(
  tickers: readonly TickerPrices[],
  window: PrepareWindow,
  format: BlobFormat,
  table: FeatureTable | undefined,
  computed: readonly string[],
): string {
  const hash = createHash("sha256");
  hash.update(JSON.stringify([FEATURE_SET, window.start, window.end, window.learningEnd ?? null]));
  if (format.format === "parquet") hash.update(JSON.stringify([format.compression, format.float32]));
  if (table !== undefined) hash.update(JSON.stringify([computed.length, table.columns]));
  for (const { ticker, days, prices } of tickers) {
    hash
      .update(JSON.stringify([ticker, days.length]))
      .update(days)
      .update(prices);
    const rows = table?.tickers.get(ticker);
    if (rows !== undefined)
      hash
        .update(JSON.stringify(["features", rows.days.length]))
        .update(rows.days)
        .update(rows.values);
  }
  return hash.digest("hex").slice(0, 16);
}
