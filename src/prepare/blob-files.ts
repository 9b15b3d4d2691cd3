import { createHash } from "node:crypto";
import { createReadStream, existsSync } from "node:fs";
import { nameTaken, throwIfAborted } from "../blob/blob-errors.ts";
import { discardStaged, publishStaged, type StagedFile, stageFile } from "../blob/folder/staged-file.ts";
import { inputNames } from "../blob/names.ts";
import type { Content } from "../blob/store.ts";
import type { Compression, InputFormat } from "../contract/config/input-formats.ts";
import { MucastError } from "../contract/errors/errors.ts";
import { type Day, formatDay } from "../contract/market/dates.ts";
import {
  priceSeries,
  type RequestedWindow,
  type TickerFeatures,
  type TickerPrices,
  type TickerSeries,
} from "../contract/market/ticker-series.ts";
import { type ParquetTable, parquetBytes, type Rows } from "../tables/write-parquet.ts";

export interface FormatOptions {
  /** By default json. */
  readonly format?: InputFormat | undefined;
  /** Of Parquet; by default snappy. */
  readonly compression?: Compression | undefined;
  /** Whether a Parquet table has its features as float32. Prices are always float64. */
  readonly float32?: boolean | undefined;
}

export type BlobFormat =
  | { readonly format: "json" }
  | { readonly format: "parquet"; readonly compression: Compression; readonly float32: boolean };

export function blobFormat({ format = "json", compression, float32 }: FormatOptions): BlobFormat {
  if (format === "parquet")
    return { format, compression: compression ?? "snappy", float32: float32 ?? false };
  const path = compression !== undefined ? "compression" : float32 ? "float32" : undefined;
  if (path === undefined) return { format };
  throw new MucastError("invalid_request", `${path}: needs the format parquet`, { path });
}

export type BlobWindow = RequestedWindow & { readonly start: Day; readonly end: Day };

export interface BlobContents {
  readonly window: BlobWindow;
  /** The rows of each ticker, ascending: of prices, and of features. */
  readonly dates: Int32Array;
  readonly rows: Int32Array;
  readonly tickers: readonly TickerPrices[];
  readonly features: Iterable<TickerFeatures>;
  /** The columns of `features`. */
  readonly columns: readonly string[];
}

interface BlobFile {
  readonly name: string;
  readonly content: Content;
}

/** The data-extraction blob and the feature blob. */
export function blobFiles(
  id: string,
  format: BlobFormat,
  { window, dates, rows, tickers, features, columns }: BlobContents,
): readonly BlobFile[] {
  const names = inputNames(id, format.format);
  if (format.format === "json")
    return [
      { name: names.prices, content: dataExtractorText(window, dates, tickers) },
      { name: names.features, content: featureEngineText(rows, features) },
    ];
  const { compression, float32 } = format;
  const table = (names: readonly string[], kind: "double" | "float", metadata = {}): ParquetTable => ({
    columns: [
      { name: "date", kind: "day" },
      { name: "ticker", kind: "text" },
      ...names.map((name) => ({ name, kind })),
    ],
    ...{ compression, metadata },
  });
  const { start, end, learningEnd } = window;
  const metadata = {
    ...{ start: formatDay(start), end: formatDay(end) },
    ...(learningEnd === undefined ? {} : { Learning_end: formatDay(learningEnd) }),
  };
  const prices = table(["price"], "double", metadata);
  return [
    { name: names.prices, content: parquetBytes(prices, rowsAt(dates, tickers.values().map(priceSeries))) },
    {
      name: names.features,
      content: parquetBytes(table(columns, float32 ? "float" : "double"), rowsAt(rows, features)),
    },
  ];
}

function* rowsAt(dates: Int32Array, tickers: Iterable<TickerSeries>): Generator<Rows> {
  for (const { ticker, days, columns, values } of tickers) {
    const n = days.length;
    const cells = columns.map((_, c) => valuesAt(dates, days, values.subarray(c * n, (c + 1) * n)));
    yield { count: dates.length, values: [dates, ticker, ...cells] };
  }
}

/**
 * The text of a canonical data-extraction blob, in pieces.
 * @param dates the rows, ascending. A ticker's values on other days are omitted, and its missing values are null.
 */
export function* dataExtractorText(
  window: BlobWindow,
  dates: Int32Array,
  tickers: Iterable<TickerPrices>,
): Generator<string> {
  const { start, end, learningEnd } = window;
  yield `{"start":"${formatDay(start)}","end":"${formatDay(end)}",`;
  if (learningEnd !== undefined) yield `"Learning_end":"${formatDay(learningEnd)}",`;
  yield `"dates":${datesText(dates)},"prices":{`;
  let separator = "\n";
  for (const { ticker, days, prices } of tickers) {
    yield `${separator}${JSON.stringify(ticker)}:${columnText(dates, days, prices)}`;
    separator = ",\n";
  }
  yield "\n}}\n";
}

/** The text of a canonical feature blob, in pieces; rows as in `dataExtractorText`. */
export function* featureEngineText(dates: Int32Array, tickers: Iterable<TickerFeatures>): Generator<string> {
  yield `{"dates":${datesText(dates)},"features":{`;
  let separator = "\n";
  for (const { ticker, days, columns, values } of tickers) {
    yield `${separator}${JSON.stringify(ticker)}:{`;
    for (const [c, name] of columns.entries()) {
      const column = values.subarray(c * days.length, (c + 1) * days.length);
      yield `${c === 0 ? "" : ","}${JSON.stringify(name)}:${columnText(dates, days, column)}`;
    }
    yield "}";
    separator = ",\n";
  }
  yield "\n}}\n";
}

function datesText(dates: Int32Array): string {
  return `[${Array.from(dates, (day) => `"${formatDay(day)}"`).join(",")}]`;
}

/** Numbers as JavaScript prints them: the shortest text that reads back as the same float64. */
function columnText(dates: Int32Array, days: Int32Array, values: Float64Array): string {
  const cells = Array.from(valuesAt(dates, days, values), (value) =>
    Number.isFinite(value) ? value : "null",
  );
  return `[${cells.join(",")}]`;
}

/** The values of a column on these dates, ascending like its days; NaN where it has none. */
export function valuesAt(dates: Int32Array, days: Int32Array, values: Float64Array): Float64Array {
  const found = new Float64Array(dates.length).fill(Number.NaN);
  for (let i = 0, row = 0; i < dates.length; i++) {
    while (row < days.length && days[row]! < dates[i]!) row++;
    if (days[row] === dates[i]) found[i] = values[row]!;
  }
  return found;
}

/**
 * Publishes files that belong together: all are complete on disk before the first gets its name. A file that exists with the same bytes is
 * not touched.
 * @param limit bytes of each.
 * @returns their paths, and whether any was new.
 */
export async function publishBlobs(
  folder: string,
  files: readonly BlobFile[],
  { signal, limit }: { readonly signal?: AbortSignal | undefined; readonly limit?: number | undefined },
): Promise<{ paths: string[]; written: boolean }> {
  const staged: StagedFile[] = [];
  let written = false;
  try {
    for (const { name, content } of files)
      staged.push(await stageFile(folder, name, content, { signal, limit }));
    for (const file of staged)
      if (existsSync(file.target) && !(await hasSameBytes(file))) throw nameTaken(file.target);
    throwIfAborted(signal, "writing", folder);
    for (const file of staged) {
      if (await publishStaged(file)) written = true;
      else if (!(await hasSameBytes(file))) throw nameTaken(file.target);
    }
  } finally {
    for (const file of staged) await discardStaged(file);
  }
  return { paths: staged.map(({ target }) => target), written };
}

async function hasSameBytes({ path, target }: StagedFile): Promise<boolean> {
  const [staged, existing] = await Promise.all([digestOf(path), digestOf(target)]);
  return staged === existing;
}

async function digestOf(path: string): Promise<string> {
  const hash = createHash("sha256");
  for await (const piece of createReadStream(path)) hash.update(piece as Buffer);
  return hash.digest("hex");
}
