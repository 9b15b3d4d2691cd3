import { MucastError } from "../contract/errors/errors.ts";
import { show } from "../contract/errors/faults.ts";
import { counted } from "../contract/errors/wording.ts";
import { formatDay } from "../contract/market/dates.ts";
import { MAX_COLUMNS, type TickerFeatures, type TickerPrices } from "../contract/market/ticker-series.ts";
import { ColumnRoles } from "../ingest/field-names.ts";
import { rowNumbers, withoutColumns } from "../ingest/row-numbers.ts";
import { valuesAt } from "./blob-files.ts";
import { emptyTable } from "./csv-records.ts";
import { type FileOptions, readTable } from "./input-files.ts";

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
  const { series: read } = await readTable("features", path, options);
  const numbers = rowNumbers(read);
  const series = read.map((each) => withoutColumns(each, numbers));
  const { columns } = series[0] ?? {};
  if (columns === undefined) throw emptyTable(path, "has no row");
  checkColumns(path, columns, computed);
  return { path, columns, tickers: new Map(series.map((each) => [each.ticker, each])) };
}

function checkColumns(path: string, columns: readonly string[], computed: readonly string[]): void {
  const fault = (what: string, code: "invalid_data" | "too_large" = "invalid_data") =>
    new MucastError(code, `${path}: ${what}`, { source: path });
  if (columns.length === 0) throw fault("the table has no column of a feature");
  const roles = new ColumnRoles("features");
  for (const name of columns) {
    const { role } = roles.of(name);
    if (role !== "value")
      throw fault(`a feature cannot be called ${show(name)}, because blobs call a ${role} so`);
    if (computed.includes(name))
      throw fault(
        `prepare computes a feature called ${show(name)} itself; rename the column, or leave out what prepare computes (--only-features, over HTTP only_features)`,
      );
  }
  const count = columns.length + computed.length;
  if (count > MAX_COLUMNS)
    throw fault(`${count} features are more than the ${MAX_COLUMNS} that a blob may have`, "too_large");
}

/**
 * The features of each ticker on `dates`: the computed ones, then those of the table. A value belongs to the ticker and date of its row and
 * to no other, so a date without a row has missing values.
 * @param computed of each of `tickers`, in their order; undefined if only the table's are wanted.
 */
export function* joinFeatures(
  computed: Iterator<TickerFeatures> | undefined,
  { columns, tickers: rows }: FeatureTable,
  tickers: readonly TickerPrices[],
  dates: Int32Array,
): Generator<TickerFeatures> {
  for (const { ticker } of tickers) {
    const first: TickerFeatures | undefined = computed?.next().value;
    const before = first?.columns ?? [];
    const values = new Float64Array((before.length + columns.length) * dates.length).fill(Number.NaN);
    const copy = (series: TickerFeatures | undefined, from: number) => {
      const n = series?.days.length ?? 0;
      for (const c of series?.columns.keys() ?? []) {
        const column = series!.values.subarray(c * n, (c + 1) * n);
        values.set(valuesAt(dates, series!.days, column), (from + c) * dates.length);
      }
    };
    copy(first, 0);
    copy(rows.get(ticker), before.length);
    yield { ticker, days: dates, columns: [...before, ...columns], values };
  }
}

/**
 * Compares the table with the prices.
 * @param isAll whether all tickers with prices are prepared, so that another ticker of the table has none.
 * @returns sentences about tickers that only one of them has, about rows on dates without a price, and about features without a value; and the
 *   dates of the blob of features: those of the prices, and others that are more than a tenth of a ticker's rows, because the verdict of a job says so.
 */
export function compareWithPrices(
  { path, columns, tickers: rows }: FeatureTable,
  tickers: readonly TickerPrices[],
  dates: Int32Array,
  isAll: boolean,
) {
  const fault = (what: string) => new MucastError("invalid_data", `${path}: ${what}`, { source: path });
  const chosen = new Set(tickers.map(({ ticker }) => ticker));
  const shared = [...rows.values()].filter(({ ticker }) => chosen.has(ticker));
  if (shared.length === 0) {
    const [theirs, priced] = [show(rows.keys().next().value), show(tickers[0]!.ticker)];
    throw fault(
      `no ticker of the table has a price: its first is ${theirs}, the first with prices ${priced}`,
    );
  }
  const [first, last] = [dates[0]!, dates.at(-1)!];
  const priced = new Set(dates);
  const kept = new Set(dates);
  const unused: number[] = [];
  let used = 0;
  for (const { days } of shared) {
    const on = days.filter((day) => priced.has(day));
    const off = days.filter((day) => !priced.has(day) && day > first && day < last);
    used += on.length;
    unused.push(...off);
    if (off.length > (on.length + off.length) / 10) for (const day of off) kept.add(day);
  }
  if (used === 0)
    throw fault(`no row of the table is on a price date from ${formatDay(first)} to ${formatDay(last)}`);
  const [are, them] = unused.length === 1 ? ["is on a date", "it is"] : ["are on dates", "they are"];
  const outcome = kept.size > dates.length ? "features may be dated a day early or late" : `${them} left out`;
  const example = unused.reduce((least, day) => Math.min(least, day), last);
  const sentence = `${counted(unused.length, "row")} of ${path} ${are} without a price, such as ${formatDay(example)}; ${outcome}`;
  const hasValue = (c: number) =>
    shared.some(({ days: { length: n }, values }) =>
      values.subarray(c * n, (c + 1) * n).some((value) => !Number.isNaN(value)),
    );
  return {
    dates: Int32Array.from(kept).sort(),
    tickers: [
      ...(isAll ? [...rows.keys()] : [])
        .filter((ticker) => !chosen.has(ticker))
        .map((ticker) => `${ticker} of ${path} has no price and is left out`),
      ...tickers
        .filter(({ ticker }) => !rows.has(ticker))
        .map(({ ticker }) => `${ticker} has no row in ${path}; its features of that file are null`),
    ],
    rows: unused.length === 0 ? [] : [sentence],
    features: columns
      .filter((_, c) => !hasValue(c))
      .map((name) => `the feature ${show(name)} of ${path} has no value`),
  };
}
