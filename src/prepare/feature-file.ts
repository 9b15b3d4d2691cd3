import { NAME_BYTES } from "../contract/blob-limits.ts";
import { MucastError } from "../contract/errors/errors.ts";
import { show } from "../contract/errors/faults.ts";
import { MAX_COLUMNS, type TickerFeatures } from "../contract/market/ticker-series.ts";
import { ColumnRoles } from "../ingest/field-names.ts";
import { rowNumbers, withoutColumns } from "../ingest/row-numbers.ts";
import { emptyTable } from "./csv/csv-rows.ts";
import { readFeatureCsv } from "./csv/read-feature-csv.ts";
import type { FileLimits } from "./file-limits.ts";
import { isParquetFile, readFeatureParquet } from "./parquet-file.ts";

/** A table of features of the caller: a row for each ticker and date. */
export interface FeatureTable {
  /** Its name in errors. */
  readonly path: string;
  readonly columns: readonly string[];
  /** By ticker; each has all columns. Days ascend; a missing value is NaN. */
  readonly tickers: ReadonlyMap<string, TickerFeatures>;
}

/**
 * Reads a table of features, CSV or Parquet.
 * @param computed names of the features that precede those of the table in the blob.
 * @throws MucastError of readFeatureCsv and readFeatureParquet; invalid_data for a table without rows, and for a name that a feature cannot
 * have; too_large for too many columns.
 */
export async function readFeatureFile(
  path: string,
  computed: readonly string[],
  signal: AbortSignal | undefined,
  limits: FileLimits = {},
): Promise<FeatureTable> {
  const check = (columns: readonly string[]) => checkColumns(path, columns, computed);
  const isParquet = await isParquetFile(path, signal);
  const read = isParquet
    ? await readFeatureParquet(path, signal, limits)
    : await readFeatureCsv(path, check, signal, limits);
  const numbers = rowNumbers(read);
  const series = read.map((each) => withoutColumns(each, numbers));
  const [first] = series;
  if (first === undefined) throw emptyTable(path, "has no row");
  const { columns } = first;
  if (isParquet || numbers.size > 0) check(columns);
  return { path, columns, tickers: new Map(series.map((each) => [each.ticker, each])) };
}

function checkColumns(path: string, columns: readonly string[], computed: readonly string[]): void {
  const fault = (code: "invalid_data" | "too_large", what: string) =>
    new MucastError(code, `${path}: ${what}`, { source: path });
  if (columns.length === 0) throw fault("invalid_data", "the table has no column of a feature");
  const roles = new ColumnRoles("features");
  for (const name of columns) {
    const { role } = roles.of(name);
    if (role !== "value") {
      const what = `a feature cannot be called ${show(name)}, because blobs call a ${role} so`;
      throw fault("invalid_data", what);
    }
    if (computed.includes(name)) {
      const what = `prepare computes a feature called ${show(name)} itself; rename the column, or leave out what prepare computes (--only-features, over HTTP only_features)`;
      throw fault("invalid_data", what);
    }
    if (Buffer.byteLength(name) > NAME_BYTES.column)
      throw fault("too_large", `the name of a feature has more than ${NAME_BYTES.column} bytes`);
  }
  const count = columns.length + computed.length;
  if (count > MAX_COLUMNS)
    throw fault("too_large", `${count} features are more than the ${MAX_COLUMNS} that a blob may have`);
}
