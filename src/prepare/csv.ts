import { DEFAULT_BLOB_LIMITS } from "../contract/blob-limits.ts";
import type { DateFormat } from "../contract/config/input-formats.ts";
import { MucastError } from "../contract/errors/errors.ts";
import { show } from "../contract/errors/faults.ts";
import { counted } from "../contract/errors/wording.ts";
import { NOT_A_TABLE } from "../contract/errors/wrong-document.ts";
import { type Day, formatDay } from "../contract/market/dates.ts";
import type { ByteSource, TickerSeries } from "../contract/market/ticker-series.ts";
import type { ZoneCalendar } from "../ingest/date-text.ts";
import { DateColumn } from "./csv-dates.ts";
import { type CsvLayout, findLayout, joinHeaders, OTHER_FORMATS } from "./csv-layout.ts";
import { type DecimalMark, NumberColumns } from "./csv-numbers.ts";

export interface CsvOptions {
  /** Of the times of day; without it they have no date. */
  readonly zone?: ZoneCalendar | undefined;
  /** By default the dates of the column must show it. */
  readonly dateFormat?: DateFormat | undefined;
  /** The name of the security, if prices do not name it. */
  readonly ticker?: string | undefined;
  /** Maximum number of tickers. */
  readonly tickers?: number | undefined;
}

export interface CsvTable {
  /** In the order of the file. Days ascend; missing values are NaN. */
  readonly series: TickerSeries[];
  /** The first line with a date. */
  readonly lineOf: (day: Day) => number | undefined;
}

/** Rows of a ticker in the order of the file. */
interface Rows {
  readonly dates: number[];
  readonly lines: number[];
  /** Row by row. */
  readonly values: number[];
}

/**
 * Reads prices, wide or long, or features.
 * @param open the bytes from the beginning, a second time for decimal commas, which may show only in the last line.
 * @throws MucastError invalid_data, with the line, for what cannot be read without a guess.
 */
export async function readCsv(
  kind: "prices" | "features",
  open: () => Promise<ByteSource>,
  options: CsvOptions,
): Promise<CsvTable> {
  const pointed = await readRows(kind, await open(), ".", options);
  const isPointed = pointed.numbers.mark() === ".";
  const { source, layout, dates, rows } = isPointed
    ? pointed
    : await readRows(kind, await open(), ",", options);
  const days = dates.days();
  const columns = [...layout.values.keys()];
  const series = [...rows].flatMap(([ticker, each]) => {
    const order = orderByDay(each, days, (what, line) => {
      const of = ticker === "" ? columns[0] : ticker;
      return invalid(
        source,
        `line ${line} gives ${of} a second ${kind === "prices" ? "price" : "row"} for ${what}`,
        { line },
      );
    });
    const n = order.length;
    const values = new Float64Array(each.values.length);
    for (const [k, i] of order.entries())
      for (let c = 0; c < columns.length; c++) values[c * n + k] = each.values[i * columns.length + c]!;
    const ownDays = Int32Array.from(order, (i) => days[each.dates[i]!]!);
    if (layout.ticker !== undefined) return [{ ticker, days: ownDays, columns, values }];
    return columns.map((name, c) => ({
      ...{ ticker: name, days: ownDays, columns: ["price"] },
      values: values.subarray(c * n, (c + 1) * n),
    }));
  });
  const lineOf = (day: Day) => {
    const token = days.indexOf(day);
    return token < 0 ? undefined : dates.lineOf(token);
  };
  return { series, lineOf };
}

async function readRows(
  kind: "prices" | "features",
  { name: source, chunks }: ByteSource,
  mark: DecimalMark,
  options: CsvOptions,
) {
  const most = options.tickers ?? DEFAULT_BLOB_LIMITS.tickers;
  const dates = new DateColumn(source, options.zone, options.dateFormat);
  const numbers = new NumberColumns(source, mark);
  const rows = new Map<string, Rows>();
  let header: readonly string[] | undefined;
  let layout: CsvLayout | undefined;
  const checkCount = (count: number, line: number) => {
    if (count <= most) return;
    const what = `line ${line} makes ${counted(count, "ticker")}, and ${most} are allowed (MUCAST_BLOB_TICKERS)`;
    throw new MucastError("too_large", `${source}: ${what}`, { source, line, limit: most });
  };
  const layOut = (names: readonly string[], first: readonly string[]) => {
    const found = findLayout(kind, names, first, source, options.ticker);
    if (found.ticker === undefined) checkCount(found.values.size, 1);
    return found;
  };
  for await (const records of recordsOf(chunks, source)) {
    for (const { cells, line } of records) {
      if (layout === undefined) {
        const names = cells.map((cell) => cell.trim());
        const joined =
          header === undefined ? names : kind === "prices" ? joinHeaders(header, names) : undefined;
        if (joined !== undefined) {
          header = joined;
          continue;
        }
        layout = layOut(header!, names);
      }
      const width = header!.length;
      if (cells.length < width || cells.slice(width).some((cell) => cell.trim() !== "")) {
        const what = `line ${line} has ${counted(cells.length, "cell")}, the header has ${width}`;
        throw invalid(source, what, { line });
      }
      const ticker = layout.ticker === undefined ? "" : cells[layout.ticker]!.trim();
      let own = rows.get(ticker);
      if (own === undefined) {
        if (layout.ticker !== undefined) {
          if (ticker === "") throw invalid(source, `line ${line} has no ticker`, { line });
          checkCount(rows.size + 1, line);
        }
        own = { dates: [], lines: [], values: [] };
        rows.set(ticker, own);
      }
      own.dates.push(dates.take(cells[layout.date]!, line));
      own.lines.push(line);
      const isLong = kind === "prices" && layout.ticker !== undefined;
      for (const [name, column] of layout.values)
        own.values.push(numbers.take(cells[column]!, line, isLong ? ticker : name));
    }
  }
  if (header === undefined) throw emptyTable(source, "is empty");
  layout ??= layOut(header, []);
  return { source, layout, dates, numbers, rows };
}

/** The indices of rows by date. @param twice the error of a second row of a date. */
function orderByDay(
  { dates, lines }: Rows,
  days: readonly Day[],
  twice: (what: string, line: number) => MucastError,
): number[] {
  const day = (i: number) => days[dates[i]!]!;
  const order = dates.map((_, i) => i);
  if (order.some((i) => i > 0 && day(i) <= day(i - 1))) order.sort((a, b) => day(a) - day(b) || a - b);
  const k = order.findIndex((i, k) => k > 0 && day(i) === day(order[k - 1]!));
  if (k < 0) return order;
  const [first, line] = [lines[order[k - 1]!]!, lines[order[k]!]!];
  throw twice(`${formatDay(day(order[k]!))}, after line ${first}; keep the last of each day`, line);
}

interface CsvRecord {
  readonly cells: readonly string[];
  readonly line: number;
}

/**
 * The records of each chunk that are not blank, with the line on which each ends. Not by DuckDB (1.5.6): its sniffer takes a file with a short row for
 * one column, drops a header of fewer cells, and refuses mixed line ends; with a dialect, it has no line numbers, needs the number of columns
 * beforehand and 0.15 MiB of memory for each, and takes 0.8 s for 1,250,000 rows of 5 cells, this 0.7 s.
 */
async function* recordsOf(chunks: AsyncIterable<Uint8Array>, source: string): AsyncGenerator<CsvRecord[]> {
  let split: ((record: string) => string[]) | undefined;
  let line = 0;
  /** The lines of a record with a quoted line end. */
  let parts: string[] = [];
  let isOpen = false;
  for await (const lines of linesOf(chunks, source)) {
    const records: CsvRecord[] = [];
    for (const text of lines) {
      line++;
      if (text.includes('"') && text.split('"').length % 2 === 0) isOpen = !isOpen;
      if (isOpen || parts.length > 0) parts.push(text);
      if (isOpen) continue;
      const record = parts.length > 0 ? parts.join("\n") : text;
      parts = [];
      split ??= splitterOf(record);
      const cells = split(record);
      if (cells.some((cell) => cell.trim() !== "")) records.push({ cells, line });
    }
    yield records;
  }
  if (!isOpen) return;
  const first = line - parts.length + 1;
  throw invalid(source, `line ${first}: a quote is not closed in ${show(parts[0])}`, { line: first });
}

/** The lines that end in each chunk, by any line end, without a byte order mark. */
async function* linesOf(chunks: AsyncIterable<Uint8Array>, source: string): AsyncGenerator<string[]> {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  const decode = (chunk?: Uint8Array) => {
    try {
      return decoder.decode(chunk, { stream: chunk !== undefined });
    } catch {
      throw new MucastError("invalid_data", `${source} is not UTF-8 text; save it as UTF-8`, { source });
    }
  };
  let rest: string | undefined;
  for await (const chunk of chunks) {
    if (rest === undefined) checkFormat(chunk, source);
    // A line end may consist of two characters.
    const lines = ((rest ?? "") + decode(chunk)).split(/\r\n|\r(?!$)|\n/);
    rest = lines.pop()!;
    yield lines;
  }
  yield ((rest ?? "") + decode()).split("\r");
}

/** Bytes that show the format. */
const MAX_START = 2 ** 16;

function checkFormat(start: Uint8Array, source: string): void {
  const text = Buffer.from(start.subarray(0, MAX_START)).toString("latin1");
  const [, what, advice] =
    OTHER_FORMATS.find(([pattern]) => pattern.test(text.replace(/^\xef\xbb\xbf/, ""))) ?? [];
  if (what !== undefined)
    throw new MucastError("invalid_data", `${source} is ${what}; ${advice}`, { source, ...NOT_A_TABLE });
}

/** Splits records at the delimiter that is the most frequent one in the header. Cells may be quoted. */
function splitterOf(header: string): (record: string) => string[] {
  const names = header.replaceAll(/"[^"]*"/g, "");
  const counts = [",", ";", "\t", "|"].map((delimiter) => names.split(delimiter).length);
  const delimiter = ",;\t|"[counts.indexOf(Math.max(...counts))]!;
  const cell = new RegExp(
    ` *"([^"]*(?:""[^"]*)*)" *(?:[${delimiter}]|$)|([^${delimiter}]*)(?:[${delimiter}]|$)`,
    "y",
  );
  return (record) => {
    if (!record.includes('"')) return record.split(delimiter);
    const cells: string[] = [];
    for (cell.lastIndex = 0; ; ) {
      const [all, quoted, plain] = cell.exec(record)!;
      cells.push(quoted?.replaceAll('""', '"') ?? plain!);
      if (cell.lastIndex === record.length && !all.endsWith(delimiter)) return cells;
    }
  };
}

export function emptyTable(source: string, what: string): MucastError {
  const advice = "Write the file again: a header, and below it rows with values.";
  return new MucastError("invalid_data", `${source} ${what}`, { source, advice });
}

function invalid(source: string, what: string, data: { line: number }): MucastError {
  return new MucastError("invalid_data", `${source}: ${what}`, { source, ...data });
}
