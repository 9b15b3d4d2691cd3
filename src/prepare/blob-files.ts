import { inputNames } from "../blob/names.ts";
import type { Content } from "../blob/store.ts";
import type { Compression, InputFormat } from "../contract/config/input-formats.ts";
import { MucastError } from "../contract/errors/errors.ts";
import { formatDay } from "../contract/market/dates.ts";
import {
  priceSeries,
  type TickerFeatures,
  type TickerPrices,
  type TickerSeries,
} from "../contract/market/ticker-series.ts";
import { type ParquetTable, parquetBytes, type Rows } from "../tables/write-parquet.ts";
import { dataExtractorText, featureEngineText, valuesAt } from "./publish-blobs.ts";
import type { PrepareWindow } from "./selection.ts";

/** How the blobs are written, as requested. */
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
  const [path] = [...(compression === undefined ? [] : ["compression"]), ...(float32 ? ["float32"] : [])];
  if (path === undefined) return { format };
  throw new MucastError("invalid_request", `${path}: needs the format parquet`, { path });
}

export interface BlobContents {
  readonly window: PrepareWindow;
  /** The rows of each ticker, ascending: of prices, and of features. */
  readonly dates: Int32Array;
  readonly rows: Int32Array;
  readonly tickers: readonly TickerPrices[];
  readonly features: Iterable<TickerFeatures>;
  /** The columns of `features`. */
  readonly columns: readonly string[];
}

/** The data-extraction blob and the feature blob: their names, and their bytes in pieces. */
export function blobFiles(
  id: string,
  format: BlobFormat,
  { window, dates, rows, tickers, features, columns }: BlobContents,
): readonly { readonly name: string; readonly content: Content }[] {
  const names = inputNames(id, format.format);
  if (format.format === "json") {
    return [
      { name: names.prices, content: dataExtractorText(window, dates, tickers) },
      { name: names.features, content: featureEngineText(rows, features) },
    ];
  }
  const { compression, float32 } = format;
  const { start, end, learningEnd } = window;
  const metadata = {
    start: formatDay(start),
    end: formatDay(end),
    ...(learningEnd === undefined ? {} : { Learning_end: formatDay(learningEnd) }),
  };
  const table = (names: readonly string[], kind: "double" | "float", metadata = {}): ParquetTable => ({
    columns: [
      { name: "date", kind: "day" },
      { name: "ticker", kind: "text" },
      ...names.map((name) => ({ name, kind })),
    ],
    ...{ compression, version: "v2", metadata },
  });
  const prices = tickers.values().map(priceSeries);
  return [
    {
      name: names.prices,
      content: parquetBytes(table(["price"], "double", metadata), rowsAt(dates, prices)),
    },
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
