import { createHash } from "node:crypto";
import { resolve } from "node:path";
import { checkFolder } from "../blob/folder/output-folder.ts";
import { checkId } from "../blob/names.ts";
import { MucastError } from "../contract/errors/errors.ts";
import { counted } from "../contract/errors/wording.ts";
import { inTurns } from "../contract/machine/pausable.ts";
import { formatDay } from "../contract/market/dates.ts";
import { suspiciousPrices } from "../contract/market/suspicious-prices.ts";
import { sparseGapDays, sparsePrices, type TickerPrices } from "../contract/market/ticker-series.ts";
import { PARQUET_WRITER } from "../tables/write-parquet.ts";
import { type BlobFormat, blobFiles, blobFormat, type FormatOptions } from "./blob-files.ts";
import { type FeatureTable, readFeatureFile } from "./feature-file.ts";
import { FEATURE_NAMES, FEATURE_SET, featuresOf, unionOfDays } from "./features/feature-set.ts";
import { joinedFeatures, unusedParts } from "./features/join-features.ts";
import type { FileLimits } from "./file-limits.ts";
import { readPriceFile } from "./price-file.ts";
import { publishBlobs } from "./publish-blobs.ts";
import { type PrepareWindow, tickersOf, windowOf, zoneOf } from "./selection.ts";
import { checkNotFuture, loneDates } from "./unlikely-dates.ts";

export interface PrepareOptions extends FormatOptions {
  /** Part of both blobs' names; by default a digest of everything that they depend on. */
  readonly id?: string | undefined;
  /** `YYYY-MM-DD`. Earlier prices still feed the windows of the features. */
  readonly start?: string | undefined;
  readonly end?: string | undefined;
  readonly learningEnd?: string | undefined;
  readonly tickers?: readonly string[] | undefined;
  /** The name of the security, if the prices are the fields of one and do not name it. */
  readonly ticker?: string | undefined;
  /** The zone in which a time of day has its date, such as `Europe/Berlin`. */
  readonly timeZone?: string | undefined;
  /** Leaves out the features that prepare computes; needs a table of features. */
  readonly onlyFeatures?: boolean | undefined;
}

export interface PrepareRequest {
  readonly csvPath: string;
  readonly featuresPath?: string | undefined;
  /** The blobs are written to its `data` folder. */
  readonly outFolder: string;
  readonly options?: PrepareOptions;
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

export interface PrepareLimits extends Omit<FileLimits, "onBytes" | "ticker" | "zone"> {
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
  const limits = { ...request.limits, onBytes, ticker: options.ticker, zone: zoneOf(options.timeZone) };
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
  const left = options.tickers === undefined ? unpriced : [];
  warnOf(
    left.map((ticker) => `${ticker} has no price and is left out`),
    report,
  );
  reportNonpositive(tickers, report);
  reportDoubtful(tickers, window, report);
  const table =
    request.featuresPath === undefined
      ? undefined
      : await readFeatureFile(request.featuresPath, computed, signal, limits);
  let rows = dates;
  if (table !== undefined) {
    const unused = unusedParts(table, tickers, dates, options.tickers === undefined);
    rows = unused.dates;
    warnOf(unused.tickers, report);
    warnOf(unused.rows, report);
    warnOf(unused.features, report, "feature");
  }
  const id = options.id ?? digestOf(tickers, window, format, table, computed);
  const own = computed.length > 0 ? await inTurns(featuresOf(tickers), signal) : undefined;
  const features = counting(
    table === undefined ? own! : joinedFeatures(own, table, tickers, rows),
    (done) => {
      signal?.throwIfAborted();
      onProgress({ stage: "write", done, total: tickers.length });
    },
  );
  const columns = [...computed, ...(table?.columns ?? [])];
  const { paths, written } = await publishBlobs(
    folder,
    blobFiles(id, format, { window, dates, rows, tickers, features, columns }),
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

function reportNonpositive(tickers: readonly TickerPrices[], report: (sentence: string) => void): void {
  for (const { ticker, prices } of tickers) {
    const count = prices.filter((price) => price <= 0).length;
    if (count === 0) continue;
    const [are, get] = count === 1 ? ["is", "its date gets"] : ["are", "their dates get"];
    report(`${ticker}: ${counted(count, "price")} ${are} zero or negative; ${get} no features`);
  }
}

const SENTENCES_SHOWN = 10;

/** Tickers that a job would refuse or warn of. */
function reportDoubtful(
  tickers: readonly TickerPrices[],
  { start, end }: PrepareWindow,
  report: (sentence: string) => void,
): void {
  const doubts = tickers.map(({ ticker, days, prices }) => {
    const isUsed = (_: number, i: number) => days[i]! >= start && days[i]! <= end && prices[i]! > 0;
    const used = days.filter(isUsed);
    const gapDays = sparseGapDays(used);
    const suspicious = suspiciousPrices(used, prices.filter(isUsed));
    return {
      sparse: gapDays === undefined ? [] : [`${ticker} ${sparsePrices(gapDays)}: no job can learn from it`],
      suspicious: suspicious === undefined ? [] : [`${ticker}: ${suspicious.text}`],
    };
  });
  const sparse = doubts.flatMap((one) => one.sparse);
  warnOf(
    sparse.map((sentence) => `${sentence}; give daily or weekly prices`),
    report,
  );
  warnOf(
    doubts.flatMap((one) => one.suspicious),
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
  if (format.format === "parquet")
    hash.update(JSON.stringify([PARQUET_WRITER, format.compression, format.float32]));
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
