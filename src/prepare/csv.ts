import { DEFAULT_BLOB_LIMITS } from "../contract/blob-limits.ts";
import { MucastError } from "../contract/errors/errors.ts";
import { counted } from "../contract/errors/wording.ts";
import { type Day, formatDay } from "../contract/market/dates.ts";
import type { ByteSource, TickerSeries } from "../contract/market/ticker-series.ts";
import { type DateOptions, readDates } from "./csv-dates.ts";
import { type CsvLayout, findFeatureLayout, findPriceLayout, joinHeaders } from "./csv-layout.ts";
import { type DecimalMark, NumberColumns } from "./csv-numbers.ts";
import { emptyTable, lineFault, recordsOf } from "./csv-records.ts";

export interface CsvOptions extends DateOptions {
  /** The name of the security, if prices do not name it. */
  readonly ticker?: string | undefined;
  /** Maximum number of tickers. */
  readonly tickers?: number | undefined;
}

/** The first line with a date. */
export type LineOf = (day: Day) => number | undefined;

/**
 * Reads prices, wide or long, or features.
 * @param open the bytes from the beginning; it is called again for decimal commas, which may show only in the last line.
 * @returns the tickers in the order of the file. Days ascend; missing values are NaN.
 * @throws MucastError invalid_data, with the line, for what cannot be read without a guess.
 */
export async function readCsv(
  kind: "prices" | "features",
  open: () => Promise<ByteSource>,
  options: CsvOptions,
): Promise<{ series: TickerSeries[]; lineOf: LineOf }> {
  const pointed = await readRows(kind, await open(), ".", options);
  const isPointed = pointed.numbers.mark() === ".";
  const found = isPointed ? pointed : await readRows(kind, await open(), ",", options);
  const { source, layout, dates, rows } = found;
  const days = readDates(source, [...dates.values()], options);
  const columns = [...layout.values.keys()];
  const series = [...rows].flatMap(([ticker, { dates, lines, values: cells }]) => {
    const n = dates.length;
    const day = (i: number) => days[dates[i]!]!;
    const order = dates.map((_, i) => i).sort((a, b) => day(a) - day(b) || a - b);
    const again = order.find((i, k) => k > 0 && day(i) === day(order[k - 1]!));
    if (again !== undefined) {
      const [what, date, line] = [kind === "prices" ? "price" : "row", day(again), lines[again]!];
      const first = lines[order.find((i) => day(i) === date)!];
      const of = layout.ticker === undefined ? columns[0] : ticker;
      const message = `line ${line} gives ${of} a second ${what} for ${formatDay(date)}, after line ${first}`;
      throw lineFault(source, line, `${message}; keep the last of each day`);
    }
    const values = new Float64Array(cells.length);
    for (const [k, i] of order.entries())
      for (let c = 0; c < columns.length; c++) values[c * n + k] = cells[i * columns.length + c]!;
    const ascending = Int32Array.from(order, day);
    if (layout.ticker !== undefined) return [{ ticker, days: ascending, columns, values }];
    return columns.map((name, c) => ({
      ...{ ticker: name, days: ascending, columns: ["price"] },
      values: values.subarray(c * n, (c + 1) * n),
    }));
  });
  const lineOf: LineOf = (day) => [...dates.values()][days.indexOf(day)]?.line;
  return { series, lineOf };
}

/** Rows of a ticker, or of all in a wide table, in the order of the file. */
interface Rows {
  /** Indices of distinct texts. */
  readonly dates: number[];
  readonly lines: number[];
  /** Row by row. */
  readonly values: number[];
}

async function readRows(
  kind: "prices" | "features",
  source: ByteSource,
  mark: DecimalMark,
  { ticker: security, tickers: most = DEFAULT_BLOB_LIMITS.tickers }: CsvOptions,
) {
  const { name } = source;
  const dates = new Map<string, { readonly text: string; readonly line: number; readonly index: number }>();
  const numbers = new NumberColumns(name, mark);
  const rows = new Map<string, Rows>();
  const checkCount = (count: number, line: number) => {
    if (count <= most) return;
    const what = `line ${line} makes ${counted(count, "ticker")}, and ${most} are allowed (MUCAST_BLOB_TICKERS)`;
    throw new MucastError("too_large", `${name}: ${what}`, { source: name, line, limit: most });
  };
  const findLayout = (names: readonly string[], first: readonly string[]) =>
    kind === "prices" ? findPriceLayout(names, first, name, security) : findFeatureLayout(names, first, name);
  let header: readonly string[] | undefined;
  let layout: CsvLayout | undefined;
  for await (const records of recordsOf(source)) {
    for (const { cells, line } of records) {
      if (layout === undefined) {
        const names = cells.map((cell) => cell.trim());
        const above = header;
        header = above === undefined ? names : kind === "prices" ? joinHeaders(above, names) : undefined;
        if (header !== undefined) continue;
        header = above!;
        layout = findLayout(header, names);
        if (layout.ticker === undefined) checkCount(layout.values.size, 1);
      }
      const width = header!.length;
      if (cells.length < width || cells.slice(width).some((cell) => cell.trim() !== ""))
        throw lineFault(
          name,
          line,
          `line ${line} has ${counted(cells.length, "cell")}, the header has ${width}`,
        );
      const ticker = layout.ticker === undefined ? undefined : cells[layout.ticker]!.trim();
      if (ticker === "") throw lineFault(name, line, `line ${line} has no ticker`);
      let group = rows.get(ticker ?? "");
      if (group === undefined) {
        group = { dates: [], lines: [], values: [] };
        rows.set(ticker ?? "", group);
        if (ticker !== undefined) checkCount(rows.size, line);
      }
      const text = cells[layout.date]!;
      let date = dates.get(text);
      if (date === undefined) {
        date = { text: text.trim(), line, index: dates.size };
        dates.set(text, date);
      }
      group.dates.push(date.index);
      group.lines.push(line);
      for (const [column, at] of layout.values)
        group.values.push(numbers.take(cells[at]!, line, kind === "prices" ? (ticker ?? column) : column));
    }
  }
  if (header === undefined) throw emptyTable(name, "is empty");
  layout ??= findLayout(header, []);
  return { source: name, layout, dates, numbers, rows };
}
