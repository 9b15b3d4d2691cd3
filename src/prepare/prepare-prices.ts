import { createHash } from "node:crypto";
import { resolve } from "node:path";
import { checkFolder } from "../blob/folder/output-folder.ts";
import { checkId } from "../blob/names.ts";
import type { DateFormat } from "../contract/config/input-formats.ts";
import { MucastError } from "../contract/errors/errors.ts";
import { show } from "../contract/errors/faults.ts";
import { nearestName } from "../contract/errors/nearest-name.ts";
import { counted } from "../contract/errors/wording.ts";
import { formatDay } from "../contract/market/dates.ts";
import type { RequestedWindow, TickerFeatures, TickerPrices } from "../contract/market/ticker-series.ts";
import { dayOfText, type ZoneCalendar, zoneCalendar } from "../ingest/date-text.ts";
import { PARQUET_WRITER } from "../tables/write-parquet.ts";
import {
  type BlobFormat,
  type BlobWindow,
  blobFiles,
  blobFormat,
  type FormatOptions,
  publishBlobs,
} from "./blob-files.ts";
import { compareWithPrices, type FeatureTable, joinFeatures, readFeatureFile } from "./feature-table.ts";
import { FEATURE_NAMES, FEATURE_SET, featuresOf, unionOfDays } from "./features.ts";
import { type FileOptions, readPriceFile } from "./input-files.ts";
import { checkDates, warn, warnOfPrices } from "./price-warnings.ts";

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
  /** Of dates such as 3/4/2020; by default the column must show it. */
  readonly dateFormat?: DateFormat | undefined;
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

interface PrepareLimits extends Pick<FileOptions, "csvBytes" | "tickers"> {
  readonly blobBytes?: number;
}

export type PreparedBlobs = Awaited<ReturnType<typeof preparePrices>>;

/**
 * Turns prices into the two input blobs: prices, and features that are known at the close of their date, with those of a table if there is
 * one. The same input and options give the same bytes under the same names.
 * @throws MucastError invalid_data (with the line) for a file that cannot be read without a guess, or with a date in the future;
 * invalid_request for the options; output_failed if the folder cannot be created (before a file is read), or if a blob of that name exists
 * with other bytes.
 */
export async function preparePrices(request: PrepareRequest) {
  const { csvPath, featuresPath, options = {}, report = () => undefined, signal } = request;
  const { onProgress = () => undefined } = request;
  if (options.id !== undefined) checkId(options.id, "id");
  const format = blobFormat(options);
  if (options.onlyFeatures && featuresPath === undefined)
    throw invalid("only_features", "needs a table of features");
  const computed = options.onlyFeatures ? [] : FEATURE_NAMES;
  const zone = readZone(options.timeZone);
  let bytes = 0;
  const onBytes = (count: number) => {
    bytes += count;
    onProgress({ stage: "read", done: bytes });
  };
  const { ticker, dateFormat } = options;
  const reading: FileOptions = { ...request.limits, signal, onBytes, ticker, zone, dateFormat };
  const folder = resolve(request.outFolder, "data");
  await checkFolder(folder);

  const file = await readPriceFile(csvPath, reading);
  const tickers = chooseTickers(options.tickers, file.tickers);
  const window = chooseWindow(options, unionOfDays(tickers), file.window, csvPath);
  const dates = unionOfDays(tickers).filter((day) => day >= window.start && day <= window.end);
  const [first, last] = [formatDay(dates[0]!), formatDay(dates.at(-1)!)];
  const counts = `${counted(tickers.length, "ticker")}, ${counted(dates.length, "date")}`;
  report(`${csvPath}: ${counts} from ${first} to ${last}`);
  checkDates(csvPath, dates, file.lineOf, report);
  if (options.tickers === undefined)
    warn(
      report,
      file.unpriced.map((ticker) => `${ticker} has no price and is left out`),
    );
  warnOfPrices(tickers, window, report);

  let features: Iterable<TickerFeatures> = featuresOf(tickers);
  let rows = dates;
  let table: FeatureTable | undefined;
  if (featuresPath !== undefined) {
    table = await readFeatureFile(featuresPath, computed, reading);
    const compared = compareWithPrices(table, tickers, dates, options.tickers === undefined);
    rows = compared.dates;
    warn(report, compared.tickers);
    warn(report, compared.rows);
    warn(report, compared.features, "feature");
    features = joinFeatures(options.onlyFeatures ? undefined : featuresOf(tickers), table, tickers, rows);
  }
  function* follow() {
    let done = 0;
    for (const each of features) {
      yield each;
      signal?.throwIfAborted();
      onProgress({ stage: "write", done: ++done, total: tickers.length });
    }
  }
  const id = options.id ?? digestOf(tickers, window, format, table, computed);
  const columns = [...computed, ...(table?.columns ?? [])];
  const contents = { window, dates, rows, tickers, features: follow(), columns };
  const { paths, written } = await publishBlobs(folder, blobFiles(id, format, contents), {
    signal,
    limit: request.limits?.blobBytes,
  });
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

function readZone(name: string | undefined): ZoneCalendar | undefined {
  try {
    return name === undefined ? undefined : zoneCalendar(name);
  } catch {
    throw invalid("time_zone", `${show(name)} is not a time zone; write a name such as Europe/Berlin`);
  }
}

function chooseTickers(
  requested: readonly string[] | undefined,
  all: readonly TickerPrices[],
): readonly TickerPrices[] {
  if (requested === undefined) return all;
  if (requested.length === 0) throw invalid("tickers", "the list is empty");
  const names = all.map(({ ticker }) => ticker);
  const unknown = requested.find((ticker) => !names.includes(ticker));
  if (unknown === undefined) return all.filter(({ ticker }) => requested.includes(ticker));
  const suggestion = nearestName(unknown, names);
  const hint = suggestion ? `; did you mean ${suggestion}?` : "";
  throw invalid("tickers", `${show(unknown)} has no price${hint}`);
}

/** The window of the options, and for bounds that they omit of the file; by default from the first to the last of `days`. */
function chooseWindow(
  options: PrepareOptions,
  days: Int32Array,
  file: RequestedWindow,
  source: string,
): BlobWindow {
  const bound = (path: string, text: string | undefined, ofFile: number | undefined) => {
    const day = text === undefined ? undefined : dayOfText(text);
    if (Number.isNaN(day)) throw invalid(path, `${show(text)} is not a date; write YYYY-MM-DD`);
    if (day === undefined || ofFile === undefined || day === ofFile) return day ?? ofFile;
    const theirs = `${formatDay(ofFile)} in the metadata of ${source}`;
    throw invalid(path, `${formatDay(day)} differs from ${theirs}`);
  };
  const [first, last] = [days[0]!, days.at(-1)!];
  const start = bound("start", options.start, file.start) ?? first;
  const end = bound("end", options.end, file.end) ?? last;
  const learningEnd = bound("learning_end", options.learningEnd, file.learningEnd);
  const range = `${formatDay(start)} to ${formatDay(end)}`;
  if (!days.some((day) => day >= start && day <= end)) {
    const has = `the prices run from ${formatDay(first)} to ${formatDay(last)}`;
    throw invalid("start", `no price date is from ${range}; ${has}`);
  }
  if (learningEnd === undefined) return { start, end };
  if (learningEnd < start || learningEnd > end)
    throw invalid("learning_end", `${formatDay(learningEnd)} is outside ${range}`);
  return { start, end, learningEnd };
}

function invalid(path: string, message: string): MucastError {
  return new MucastError("invalid_request", `${path}: ${message}`, { path });
}

/** 16 hexadecimal digits of a SHA-256 over everything that the bytes of the blobs depend on. */
function digestOf(
  tickers: readonly TickerPrices[],
  window: BlobWindow,
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
