import { DEFAULT_BLOB_LIMITS } from "../../contract/blob-limits.ts";
import { Turns } from "../../contract/machine/pausable.ts";
import type { Day } from "../../contract/market/dates.ts";
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
  for (const [ticker, { dates, prices }] of cells.tickers.cells) {
    await turns.pauseIfOver();
    const kept = cells.tickers.byDay(ticker, days, "price").filter((i) => !Number.isNaN(prices[i]!));
    if (kept.length === 0) unpriced.push(ticker);
    else
      priced.push({
        ticker,
        days: Int32Array.from(kept, (i) => days[dates[i]!]!),
        prices: Float64Array.from(kept, (i) => prices[i]!),
      });
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
