import { compareCodePoints } from "../contract/code-points.ts";
import type { TickerPrices } from "../contract/columns.ts";
import { formatDay } from "../contract/dates.ts";
import { MucastError } from "../contract/errors.ts";
import { DateColumn } from "./csv-dates.ts";
import { layoutOf } from "./csv-layout.ts";
import { type DecimalMark, NumberColumn } from "./csv-numbers.ts";
import { type CsvRow, csvRows } from "./csv-rows.ts";

/** The cells of one ticker in the order of the file. */
interface Cells {
  readonly dates: number[];
  readonly prices: number[];
  readonly lines: number[];
}

/**
 * Reads a wide or long price CSV.
 * @returns every ticker that has a price, by ascending code point; days ascend, missing prices are left out, zero
 * and negative ones kept as they are.
 * @throws MucastError of csvRows; invalid_data, with the line, for what cannot be understood without guessing.
 */
export async function readPrices(path: string): Promise<TickerPrices[]> {
  const pointed = await readUnder(".", path);
  const cells = pointed.numbers.mark() === "." ? pointed : await readUnder(",", path);
  const days = cells.dates.days();
  const all = [...cells.tickers].map(([ticker, column]) => tickerPrices(ticker, column, days, path));
  const priced = all.filter(({ days }) => days.length > 0);
  if (priced.length === 0) throw new MucastError("invalid_data", `${path} holds no price`, { source: path });
  return priced.sort((a, b) => compareCodePoints(a.ticker, b.ticker));
}

async function readUnder(mark: DecimalMark, path: string): Promise<PriceCells> {
  const rows = csvRows(path);
  const header = await rows.next();
  if (header.done) throw new MucastError("invalid_data", `${path} is empty`, { source: path });
  const names = header.value.cells;
  const layout = layoutOf(names, path);
  const cells = new PriceCells(path, mark);
  for await (const row of rows) {
    checkWidth(row, names.length, path);
    const date = cells.dates.take(row.cells[layout.date]!, row.line);
    if (layout.kind === "long") {
      cells.add(row.cells[layout.ticker]!.trim(), date, row.cells[layout.price]!, row.line);
    } else {
      for (const [ticker, column] of layout.tickers) cells.add(ticker, date, row.cells[column]!, row.line);
    }
  }
  return cells;
}

/** Cells past the header's end, and cells missing at a row's end, are a shifted or cut row. */
function checkWidth(row: CsvRow, width: number, path: string): void {
  const surplus = row.cells.slice(width).some((cell) => cell !== "");
  if (row.cells.length >= width && !surplus) return;
  const words = `line ${row.line} has ${row.cells.length} cells, the header has ${width}`;
  throw new MucastError("invalid_data", `${path}: ${words}`, { source: path, line: row.line });
}

/** All cells of a file, as far as they can be understood before its last line is read. */
class PriceCells {
  readonly dates: DateColumn;
  readonly numbers: NumberColumn;
  readonly tickers = new Map<string, Cells>();
  readonly #path: string;

  constructor(path: string, mark: DecimalMark) {
    this.#path = path;
    this.dates = new DateColumn(path);
    this.numbers = new NumberColumn(path, mark);
  }

  add(ticker: string, date: number, price: string, line: number): void {
    let cells = this.tickers.get(ticker);
    if (cells === undefined) {
      if (ticker === "") {
        const data = { source: this.#path, line };
        throw new MucastError("invalid_data", `${this.#path}: line ${line} names no ticker`, data);
      }
      cells = { dates: [], prices: [], lines: [] };
      this.tickers.set(ticker, cells);
    }
    cells.dates.push(date);
    cells.prices.push(this.numbers.take(price, line));
    cells.lines.push(line);
  }
}

/** Sorts by date, refuses a date that comes twice (also where one of the two has no price), drops the missing. */
function tickerPrices(ticker: string, cells: Cells, dayOf: readonly number[], path: string): TickerPrices {
  const order = cells.dates.map((_, i) => i);
  const day = (i: number) => dayOf[cells.dates[i]!]!;
  order.sort((a, b) => day(a) - day(b) || a - b);
  for (let k = 1; k < order.length; k++) {
    if (day(order[k]!) === day(order[k - 1]!)) {
      throw duplicate(ticker, day(order[k]!), cells.lines[order[k - 1]!]!, cells.lines[order[k]!]!, path);
    }
  }
  const kept = order.filter((i) => !Number.isNaN(cells.prices[i]!));
  return {
    ticker,
    days: Int32Array.from(kept, day),
    prices: Float64Array.from(kept, (i) => cells.prices[i]!),
  };
}

function duplicate(ticker: string, day: number, first: number, line: number, path: string): MucastError {
  return new MucastError(
    "invalid_data",
    `${path}: line ${line} gives ${ticker} a second price for ${formatDay(day)}, after line ${first}`,
    { source: path, line, ticker },
  );
}
