import { DEFAULT_BLOB_LIMITS } from "../../contract/blob-limits.ts";
import { Turns } from "../../contract/machine/pausable.ts";
import type { TickerFeatures } from "../../contract/market/ticker-series.ts";
import type { FileLimits } from "../file-limits.ts";
import { DateColumn } from "./csv-dates.ts";
import { type FeatureLayout, featureLayoutOf } from "./csv-layout.ts";
import { type DecimalMark, NumberColumn, type NumberHints } from "./csv-numbers.ts";
import { type CsvRow, checkWidth, csvRows, emptyTable } from "./csv-rows.ts";
import { CsvTickers } from "./csv-tickers.ts";

const FEATURE_HINTS: NumberHints = {
  currency: "; write numbers without a currency sign",
  letters: "; leave out columns that are not numbers",
};

interface Rows {
  readonly dates: number[];
  readonly lines: number[];
  readonly values: number[];
}

/** A feature CSV, as far as it is known before its last line. */
interface FeatureRows {
  readonly columns: readonly string[];
  readonly dates: DateColumn;
  readonly numbers: NumberColumn;
  readonly tickers: CsvTickers<Rows>;
}

/**
 * Reads a feature CSV, with a row per ticker and date in any order.
 * @param onColumns called with the names of the features before a row is read.
 * @returns the rows of each ticker, in the order in which the tickers first appear. Days ascend; a missing value is NaN.
 */
export async function readFeatureCsv(
  path: string,
  onColumns: (names: readonly string[]) => void,
  signal?: AbortSignal,
  limits: FileLimits = {},
): Promise<TickerFeatures[]> {
  const turns = new Turns(signal);
  const read = (mark: DecimalMark) =>
    readUnder(path, mark, csvRows(path, signal, limits), onColumns, limits, turns);
  const pointed = await read(".");
  const found = pointed.numbers.mark() === "." ? pointed : await read(",");
  const days = found.dates.days();
  const series: TickerFeatures[] = [];
  const { columns } = found;
  for (const [ticker, { dates, values }] of found.tickers.cells) {
    await turns.pauseIfOver();
    const order = found.tickers.byDay(ticker, days, "row");
    const sorted = new Float64Array(values.length);
    for (const [k, i] of order.entries())
      for (let c = 0; c < columns.length; c++) sorted[c * order.length + k] = values[i * columns.length + c]!;
    series.push({ ticker, days: Int32Array.from(order, (i) => days[dates[i]!]!), columns, values: sorted });
  }
  return series;
}

async function readUnder(
  path: string,
  mark: DecimalMark,
  rows: AsyncIterable<CsvRow>,
  onColumns: (names: readonly string[]) => void,
  { zone, tickers: most = DEFAULT_BLOB_LIMITS.tickers }: FileLimits,
  turns: Turns,
): Promise<FeatureRows> {
  const dates = new DateColumn(path, zone);
  const numbers = new NumberColumn(path, mark, FEATURE_HINTS);
  const tickers = new CsvTickers<Rows>(path, most, () => ({ dates: [], lines: [], values: [] }));
  const layoutUnder = (names: readonly string[], second?: readonly string[]) => {
    const found = featureLayoutOf(names, path, second);
    onColumns([...found.features.keys()]);
    return found;
  };
  let header: readonly string[] | undefined;
  let layout: FeatureLayout | undefined;
  for await (const row of rows) {
    await turns.pauseIfOver();
    if (header === undefined) {
      header = row.cells;
      continue;
    }
    const { cells, line } = row;
    layout ??= layoutUnder(header, cells);
    checkWidth(row, header.length, path);
    const date = dates.take(cells[layout.date]!, line);
    const own = tickers.of(cells[layout.ticker]!.trim(), line);
    own.dates.push(date);
    own.lines.push(line);
    for (const [name, column] of layout.features) own.values.push(numbers.take(cells[column]!, line, name));
  }
  if (header === undefined) throw emptyTable(path, "is empty");
  layout ??= layoutUnder(header);
  return { columns: [...layout.features.keys()], dates, numbers, tickers };
}
