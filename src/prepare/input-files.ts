import { tmpdir } from "node:os";
import { openBlob } from "../blob/open-blob.ts";
import { DEFAULT_BLOB_LIMITS } from "../contract/blob-limits.ts";
import { MucastError } from "../contract/errors/errors.ts";
import { show } from "../contract/errors/faults.ts";
import {
  type ByteSource,
  compareCodePoints,
  MAX_COLUMNS,
  type RequestedWindow,
  type TickerFeatures,
  type TickerPrices,
} from "../contract/market/ticker-series.ts";
import { ColumnRoles } from "../ingest/column-names.ts";
import { MAGIC } from "../ingest/parquet.ts";
import { type ReadOptions, readBlob } from "../ingest/read-blob.ts";
import { readPrices } from "../ingest/read-prices.ts";
import { arePricesRowNumbers, rowNumbers, withoutColumns } from "../ingest/row-numbers.ts";
import { type CsvOptions, type LineOf, readCsv } from "./csv.ts";
import { emptyTable } from "./csv-records.ts";

/** How a file of prices or of features is read. One more than a limit is too_large. */
export interface FileOptions extends CsvOptions {
  readonly signal?: AbortSignal | undefined;
  /** Maximum size, decompressed. A Parquet table may have as many values as a CSV of this size. */
  readonly csvBytes?: number | undefined;
  /** Called with the number of bytes of each part that was read, decompressed. */
  readonly onBytes?: ((count: number) => void) | undefined;
}

/**
 * Reads the tickers that have a price, in code point order, and the names of those that have none. Days ascend; missing prices are dropped,
 * zero and negative ones kept. A Parquet table may have a window in its metadata, and a CSV has the first line of each date.
 */
export async function readPriceFile(path: string, options: FileOptions = {}) {
  let tickers: TickerPrices[];
  let window: RequestedWindow = {};
  let lineOf: LineOf | undefined;
  if (await isParquetFile(path, options.signal)) {
    const blob = await readPrices(await openFile(path, options), tableOptions(options));
    window = blob.window;
    tickers = blob.tickers.map((name) => blob.load(name));
  } else {
    const csv = await readCsv("prices", () => openFile(path, options), options);
    lineOf = csv.lineOf;
    tickers = csv.series.map(({ ticker, days, values }) => ({ ticker, days, prices: values }));
  }
  const found = tickers
    .map(({ ticker, days, prices }) => {
      const isPresent = (_: number, i: number) => !Number.isNaN(prices[i]!);
      return { ticker, days: days.filter(isPresent), prices: prices.filter(isPresent) };
    })
    .filter(({ ticker, prices }) => !arePricesRowNumbers(ticker, prices))
    .sort((a, b) => compareCodePoints(a.ticker, b.ticker));
  const { priced = [], unpriced = [] } = Object.groupBy(found, ({ days }) =>
    days.length > 0 ? "priced" : "unpriced",
  );
  if (priced.length === 0) throw emptyTable(path, "contains no price");
  return { tickers: priced, unpriced: unpriced.map(({ ticker }) => ticker), window, lineOf };
}

/** A table of features of the caller: a row for each ticker and date. */
export interface FeatureTable {
  /** Its name in errors. */
  readonly path: string;
  readonly columns: readonly string[];
  /** By ticker; each has all columns. Days ascend; a missing value is NaN. */
  readonly tickers: ReadonlyMap<string, TickerFeatures>;
}

/**
 * @param computed names of the features that precede those of the table in the blob.
 * @throws MucastError invalid_data also for a table without rows and for a name that a feature cannot have; too_large for too many columns.
 */
export async function readFeatureFile(
  path: string,
  computed: readonly string[],
  options: FileOptions,
): Promise<FeatureTable> {
  const read: TickerFeatures[] = [];
  if (await isParquetFile(path, options.signal)) {
    const source = await openFile(path, options);
    for await (const each of readBlob("features", source, tableOptions(options))) read.push(each);
  } else {
    read.push(...(await readCsv("features", () => openFile(path, options), options)).series);
  }
  const numbers = rowNumbers(read);
  const series = read.map((each) => withoutColumns(each, numbers));
  const { columns } = series[0] ?? {};
  if (columns === undefined) throw emptyTable(path, "has no row");
  checkColumns(path, columns, computed);
  return { path, columns, tickers: new Map(series.map((each) => [each.ticker, each])) };
}

function checkColumns(path: string, columns: readonly string[], computed: readonly string[]): void {
  const fault = (code: "invalid_data" | "too_large", what: string) =>
    new MucastError(code, `${path}: ${what}`, { source: path });
  if (columns.length === 0) throw fault("invalid_data", "the table has no column of a feature");
  const roles = new ColumnRoles("features");
  for (const name of columns) {
    const { role } = roles.of(name);
    if (role !== "value")
      throw fault(
        "invalid_data",
        `a feature cannot be called ${show(name)}, because blobs call a ${role} so`,
      );
    if (computed.includes(name))
      throw fault(
        "invalid_data",
        `prepare computes a feature called ${show(name)} itself; rename the column, or leave out what prepare computes (--only-features, over HTTP only_features)`,
      );
  }
  const count = columns.length + computed.length;
  if (count > MAX_COLUMNS)
    throw fault("too_large", `${count} features are more than the ${MAX_COLUMNS} that a blob may have`);
}

/** Whether a local file, perhaps gzipped, begins like a Parquet table. */
export async function isParquetFile(path: string, signal: AbortSignal | undefined): Promise<boolean> {
  let head = Buffer.alloc(0);
  for await (const chunk of (await openFile(path, { signal })).chunks) {
    head = Buffer.concat([head, chunk]);
    if (head.length >= MAGIC.length) break;
  }
  return head.toString("latin1", 0, MAGIC.length) === MAGIC;
}

async function openFile(path: string, { signal, csvBytes, onBytes }: FileOptions): Promise<ByteSource> {
  const { chunks } = await openBlob(
    path,
    { allowed: [] },
    { ...(signal ? { signal } : {}), ...(csvBytes === undefined ? {} : { limits: { maxBytes: csvBytes } }) },
  );
  async function* follow() {
    for await (const chunk of chunks) {
      onBytes?.(chunk.length);
      yield chunk;
    }
  }
  return { name: path, chunks: follow() };
}

/** The fewest bytes of a value in a CSV: a digit and a comma. */
const CSV_VALUE_BYTES = 2;

function tableOptions({
  signal,
  csvBytes,
  tickers = DEFAULT_BLOB_LIMITS.tickers,
  ticker,
  zone,
}: FileOptions): ReadOptions {
  return {
    ...{ workFolder: tmpdir(), signal, ticker, zone, limits: { ...DEFAULT_BLOB_LIMITS, tickers } },
    maxTableValues: csvBytes === undefined ? undefined : Math.floor(csvBytes / CSV_VALUE_BYTES),
  };
}
