import { DEFAULT_BLOB_LIMITS } from "../../contract/blob-limits.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import { Turns } from "../../contract/machine/pausable.ts";
import { type Day, formatDay } from "../../contract/market/dates.ts";
import { compareCodePoints, type TickerPrices } from "../../contract/market/ticker-series.ts";
import type { FileLimits } from "../file-limits.ts";
import { DateColumn } from "./csv-dates.ts";
import { joinedHeader, layoutOf, type PriceLayout } from "./csv-layout.ts";
import { type DecimalMark, NumberColumn, PRICE_HINTS } from "./csv-numbers.ts";
import { type CsvRow, checkWidth, csvRows, emptyTable } from "./csv-rows.ts";
import { CsvTickers } from "./csv-tickers.ts";

export interface CsvPrices {
  readonly tickers: TickerPrices[];
  readonly unpriced: readonly string[];
  readonly lineOf: (day: Day) => number | undefined;
}

interface Cells {
  readonly dates: number[];
  readonly prices: number[];
  readonly lines: number[];
}

/**
 * Reads a wide or long price CSV.
 * @returns every ticker that has a price, in code point order, and the names of those that have none. Days ascend; missing prices are
 *   dropped, zero and negative ones are kept.
 */
export async function readPriceCsv(
  path: string,
  signal?: AbortSignal,
  limits: FileLimits = {},
): Promise<CsvPrices> {
  const turns = new Turns(signal);
  const read = (mark: DecimalMark) =>
    readUnder(new PriceCells(path, mark, limits), csvRows(path, signal, limits), limits.ticker, signal);
  const pointed = await read(".");
  const cells = pointed.numbers.mark() === "." ? pointed : await read(",");
  const days = cells.dates.days();
  const priced: TickerPrices[] = [];
  const unpriced: string[] = [];
  for (const [ticker, column] of cells.tickers.cells) {
    await turns.pauseIfOver();
    const prices = tickerPrices(ticker, column, days, (k) => duplicate(ticker, column, k, cells.dates, path));
    if (prices.days.length > 0) priced.push(prices);
    else unpriced.push(ticker);
  }
  if (priced.length === 0) throw emptyTable(path, "contains no price");
  const tickers = priced.sort((a, b) => compareCodePoints(a.ticker, b.ticker));
  const lineOf = (day: Day) => {
    const token = days.indexOf(day);
    return token < 0 ? undefined : cells.dates.lineOf(token);
  };
  return { tickers, unpriced: unpriced.sort(compareCodePoints), lineOf };
}

async function readUnder(
  cells: PriceCells,
  rows: AsyncIterable<CsvRow>,
  ticker: string | undefined,
  signal: AbortSignal | undefined,
): Promise<PriceCells> {
  const turns = new Turns(signal);
  const { path } = cells;
  let names: readonly string[] | undefined;
  let layout: PriceLayout | undefined;
  for await (const row of rows) {
    await turns.pauseIfOver();
    if (names === undefined) {
      names = row.cells;
      continue;
    }
    if (layout === undefined) {
      const joined: string[] | undefined = joinedHeader(names, row.cells);
      if (joined !== undefined) {
        names = joined;
        continue;
      }
      layout = layoutOf(names, path, ticker, row.cells);
      if (layout.kind === "wide") cells.tickers.checkCount(layout.tickers.size, 1);
    }
    checkWidth(row, names.length, path);
    const date = cells.dates.take(row.cells[layout.date]!, row.line);
    if (layout.kind === "long") {
      cells.add(row.cells[layout.ticker]!.trim(), date, row.cells[layout.price]!, row.line);
    } else {
      for (const [ticker, column] of layout.tickers) cells.add(ticker, date, row.cells[column]!, row.line);
    }
  }
  if (names === undefined) throw emptyTable(path, "is empty");
  if (layout === undefined) layoutOf(names, path, ticker);
  return cells;
}

/** All cells of a file, as far as they are known before its last line. */
class PriceCells {
  readonly dates: DateColumn;
  readonly numbers: NumberColumn;
  readonly tickers: CsvTickers<Cells>;
  readonly path: string;

  constructor(
    path: string,
    mark: DecimalMark,
    { zone, tickers: most = DEFAULT_BLOB_LIMITS.tickers }: FileLimits,
  ) {
    this.path = path;
    this.tickers = new CsvTickers(path, most, () => ({ dates: [], prices: [], lines: [] }));
    this.dates = new DateColumn(path, zone);
    this.numbers = new NumberColumn(path, mark, PRICE_HINTS);
  }

  add(ticker: string, date: number, price: string, line: number): void {
    const cells = this.tickers.of(ticker, line);
    cells.dates.push(date);
    cells.prices.push(this.numbers.take(price, line, ticker));
    cells.lines.push(line);
  }
}

/**
 * Sorts by date, refuses a repeated date (even if one of the two has no price), drops missing prices.
 * @param twice the error of two cells of the same date.
 */
function tickerPrices(
  ticker: string,
  cells: Cells,
  dayOf: readonly number[],
  twice: (pair: readonly [number, number]) => MucastError,
): TickerPrices {
  const order = cells.dates.map((_, i) => i);
  const day = (i: number) => dayOf[cells.dates[i]!]!;
  order.sort((a, b) => day(a) - day(b) || a - b);
  for (let k = 1; k < order.length; k++) {
    if (day(order[k]!) === day(order[k - 1]!)) throw twice([order[k - 1]!, order[k]!]);
  }
  const kept = order.filter((i) => !Number.isNaN(cells.prices[i]!));
  return {
    ticker,
    days: Int32Array.from(kept, day),
    prices: Float64Array.from(kept, (i) => cells.prices[i]!),
  };
}

function duplicate(
  ticker: string,
  cells: Cells,
  pair: readonly [number, number],
  dates: DateColumn,
  path: string,
): MucastError {
  const [first, line] = pair.map((i) => cells.lines[i]!) as [number, number];
  const day = formatDay(dates.days()[cells.dates[pair[1]]!]!);
  const message = `line ${line} gives ${ticker} a second price for ${day}, after line ${first}; keep the last of each day`;
  return new MucastError("invalid_data", `${path}: ${message}`, { source: path, line, ticker });
}
