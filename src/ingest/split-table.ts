import { counted } from "../contract/errors/wording.ts";
import type { TickerSeries } from "../contract/market/ticker-series.ts";
import { Calendar } from "./dates.ts";
import { invalid, kindOf, type Position, quote } from "./faults.ts";
import { type Members, numberOf, type Reading } from "./reading.ts";

/** A pandas `orient="split"` table, whose parts come in any order: names of columns, dates, rows. */
export class SplitTable {
  static readonly PARTS: readonly string[] = ["columns", "index", "data"];
  index: readonly unknown[] | undefined;
  readonly #reading: Reading;
  readonly #ticker: string | undefined;
  #headers: readonly string[] | undefined;
  /** By column. */
  #cells: unknown[][] = [];
  #rows: number | undefined;

  /** @param ticker of the table; none if each column is a ticker. */
  constructor(reading: Reading, ticker?: string) {
    this.#reading = reading;
    this.#ticker = ticker;
  }

  /** Whether an object with an array is such a table. A ticker's columns may be called `index` or `data` too. */
  static is({ columns, index, data }: Members): boolean {
    const [header, row] = [columns, data].map((part) => (Array.isArray(part) ? part[0] : undefined));
    return typeof header === "string" || Array.isArray(row) || [columns, index, data].every(Array.isArray);
  }

  /** Whether it has more than an index. */
  get isBegun(): boolean {
    return this.#headers !== undefined || this.#rows !== undefined;
  }

  set(name: string, part: readonly unknown[]): void {
    if (name === "index") this.index = part;
    else if (name === "data") this.addRows(part);
    else {
      const other = part.findIndex((header) => typeof header !== "string");
      const twice = part.findIndex((header, j) => part.indexOf(header) < j);
      if (other >= 0)
        throw invalid(
          this.#at("columns", other),
          `is ${kindOf(part[other])}; the name of a column is expected`,
        );
      if (twice >= 0)
        throw invalid(this.#at("columns", twice), `is ${quote(part[twice] as string)}, which comes twice`);
      this.#headers = part as readonly string[];
    }
  }

  addRows(rows: readonly unknown[]): void {
    this.#rows ??= 0;
    for (const row of rows) {
      const at = () => this.#at("data", this.#rows!);
      if (!Array.isArray(row)) throw invalid(at(), `is ${kindOf(row)}; an array of values is expected`);
      if (this.#rows === 0) this.#cells = row.map(() => []);
      if (row.length !== this.#cells.length) {
        const what = `has ${counted(row.length, "value")}; the rows before it have ${this.#cells.length}`;
        throw invalid(at(), what);
      }
      this.#reading.hold(row.length);
      for (const [j, cell] of row.entries()) this.#cells[j]!.push(cell);
      this.#rows++;
    }
  }

  /** Its columns, by name. @throws MucastError invalid_data if parts are missing or do not match. */
  columns(): readonly (readonly [name: string, cells: readonly unknown[]])[] {
    const [headers, n] = [this.#headers, this.#rows];
    const position = this.#reading.position(this.#ticker);
    const is = this.#ticker === undefined ? "the blob is" : "is";
    const missing = headers === undefined ? "columns" : n === undefined ? "data" : undefined;
    if (headers === undefined || n === undefined)
      throw invalid(position, `${is} a split table without ${missing}`);
    if (n > 0 && this.#cells.length !== headers.length) {
      const what = `has ${counted(headers.length, "column")}; the rows of its data have ${counted(this.#cells.length, "value")}`;
      throw invalid(position, what);
    }
    const hasDates = headers.some((name) => this.#reading.roles.of(name).role === "date");
    if (this.index === undefined && !hasDates) throw invalid(position, `${is} a split table without index`);
    return headers.map((name, j) => [name, this.#cells[j] ?? []]);
  }

  /** The tickers of a price table with a column per ticker. */
  *tickers(): Generator<TickerSeries, void, void> {
    const { roles, kind } = this.#reading;
    const fault = (what: string) => invalid(this.#reading.position(), `the blob is one split table ${what}`);
    if (kind === "features") throw fault("which does not tell tickers from features; write one a ticker");
    const columns = this.columns();
    const names = columns.map(([name]) => name);
    const dates = roles.best(names, "date", fault);
    const cells = columns.find(([name]) => name === dates)?.[1] ?? this.index!;
    const calendar = Calendar.of(cells, (...at) => this.#reading.place(dates ?? "index", ...at));
    for (const [j, [ticker, prices]] of columns.entries()) {
      const { role } = roles.of(ticker);
      if (role === "date") continue;
      if (role === "ticker")
        throw fault("with a column of tickers; write it as records, or as one table a ticker");
      if (prices.length !== calendar.days.length) {
        const [rows, days] = [counted(prices.length, "row"), counted(calendar.days.length, "date")];
        throw fault(`with ${rows} of data beside ${days}`);
      }
      const values = Float64Array.from(prices, (cell, i) => numberOf(cell, () => this.#at("data", i, j)));
      yield this.#reading.complete(ticker, ["price"], calendar, values);
    }
  }

  #at(part: string, ...keys: number[]): Position {
    return this.#ticker === undefined
      ? this.#reading.place(part, ...keys)
      : this.#reading.position(this.#ticker, part, ...keys);
  }
}
