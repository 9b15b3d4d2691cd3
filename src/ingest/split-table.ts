import { counted } from "../contract/errors/wording.ts";
import type { TickerSeries } from "../contract/market/ticker-series.ts";
import type { Calendar } from "./dates.ts";
import { invalid, kindOf, type Position, quote } from "./faults.ts";
import { calendarOf, numberOf, type Reading } from "./reading.ts";

/**
 * A pandas `orient="split"` table: `columns` are its names, `data` its rows, `index` its dates, in any order. A column
 * called date replaces the index.
 */
export class SplitTable {
  readonly #reading: Reading;
  readonly #ticker: string | undefined;
  #headers: readonly string[] | undefined;
  #index: readonly unknown[] | undefined;
  /** By column. */
  #cells: unknown[][] = [];
  #rows: number | undefined;

  /** @param ticker of the table; none if each column is a ticker. */
  constructor(reading: Reading, ticker?: string) {
    this.#reading = reading;
    this.#ticker = ticker;
  }

  /** Whether it has more than an index. */
  get isBegun(): boolean {
    return this.#headers !== undefined || this.#rows !== undefined;
  }

  /** @param name of a part: `columns`, `index` or `data`. */
  set(name: string, part: readonly unknown[]): void {
    if (name === "columns") this.#setHeaders(part);
    else if (name === "index") this.#index = part;
    else this.addRows(part);
  }

  addRows(rows: readonly unknown[]): void {
    this.#rows ??= 0;
    for (const row of rows) {
      const position = this.#position("data", this.#rows);
      if (!Array.isArray(row)) throw invalid(position, `is ${kindOf(row)}; an array of values is expected`);
      if (this.#rows === 0) this.#cells = row.map(() => []);
      if (row.length !== this.#cells.length) {
        const what = `has ${counted(row.length, "value")}; the rows before it have ${this.#cells.length}`;
        throw invalid(position, what);
      }
      this.#reading.hold(row.length);
      for (const [j, cell] of row.entries()) this.#cells[j]!.push(cell);
      this.#rows++;
    }
  }

  /** The table of one ticker. @throws MucastError invalid_data if parts are missing or do not match. */
  series(ticker: string): TickerSeries {
    const { headers, n, calendar } = this.#whole();
    const wanted = this.#reading.kind === "prices" ? ["price"] : ["value", "price"];
    const chosen = headers.map((_, j) => j).filter((j) => wanted.includes(this.#roleOf(j, headers)));
    const columns = chosen.map((j) => this.#reading.columnName(headers[j]!));
    this.#reading.claim(ticker, columns, n);
    const values = new Float64Array(chosen.length * n);
    for (const [at, j] of chosen.entries()) values.set(this.#column(j), at * n);
    calendar.arrange(values);
    return { ticker, days: calendar.days, columns, values };
  }

  /** The tickers of a price table with a column per ticker, each with a single column `price`. */
  *wide(): Generator<TickerSeries, void, void> {
    const position = { source: this.#reading.source };
    if (this.#reading.kind === "features") {
      const what =
        "the blob is one split table, which does not tell tickers from features; write one a ticker";
      throw invalid(position, what);
    }
    const { headers, n, calendar } = this.#whole();
    for (const [j, ticker] of headers.entries()) {
      const { role } = this.#reading.roles.of(ticker);
      if (role === "date") continue;
      if (role === "ticker") {
        const what =
          "is a split table with a column of tickers; write it as records, or as one table a ticker";
        throw invalid(position, what);
      }
      if (role === "price") {
        const what = `the blob is one split table with the column ${quote(ticker)}, but without tickers`;
        throw invalid(position, what);
      }
      this.#reading.claim(ticker, ["price"], n);
      const values = this.#column(j);
      calendar.arrange(values);
      yield { ticker, days: calendar.days, columns: ["price"], values };
    }
  }

  #setHeaders(part: readonly unknown[]): void {
    const headers = new Set<string>();
    for (const [j, name] of part.entries()) {
      const position = this.#position("columns", j);
      if (typeof name !== "string")
        throw invalid(position, `is ${kindOf(name)}; the name of a column is expected`);
      if (headers.has(name)) throw invalid(position, `is ${quote(name)}, which comes twice`);
      headers.add(name);
    }
    this.#headers = [...headers];
  }

  #whole(): { readonly headers: readonly string[]; readonly n: number; readonly calendar: Calendar } {
    const headers = this.#headers;
    const n = this.#rows;
    const position = this.#reading.position(this.#ticker);
    if (headers === undefined || n === undefined)
      throw invalid(position, this.#without(headers === undefined ? "columns" : "data"));
    if (n > 0 && this.#cells.length !== headers.length) {
      const what = `has ${counted(headers.length, "column")}; the rows of its data have ${counted(this.#cells.length, "value")}`;
      throw invalid(position, what);
    }
    const calendar = this.#calendar(headers, position);
    if (calendar.days.length === n) return { headers, n, calendar };
    const what = `has ${counted(n, "row")} of data beside ${counted(calendar.days.length, "date")}`;
    throw invalid(position, what);
  }

  #calendar(headers: readonly string[], position: Position): Calendar {
    const rank = (j: number) => this.#reading.roles.of(headers[j]!).rank;
    const dates = headers.map((_, j) => j).filter((j) => this.#reading.roles.of(headers[j]!).role === "date");
    const [best, next] = dates.sort((a, b) => rank(a) - rank(b));
    if (best === undefined) {
      if (this.#index === undefined) throw invalid(position, this.#without("index"));
      return calendarOf(this.#index, this.#reading, this.#ticker, "index");
    }
    if (next !== undefined && (this.#reading.kind === "features" || rank(best) === rank(next))) {
      const what = `has two columns of dates, ${quote(headers[best]!)} and ${quote(headers[next]!)}`;
      throw invalid(position, what);
    }
    return calendarOf(this.#cells[best] ?? [], this.#reading, this.#ticker, `data[…][${best}]`);
  }

  #without(part: string): string {
    return `${this.#ticker === undefined ? "the blob is" : "is"} a split table without ${part}`;
  }

  #roleOf(column: number, headers: readonly string[]): string {
    const { role } = this.#reading.roles.of(headers[column]!);
    const other = this.#cells[column]?.find((cell) => cell !== this.#ticker);
    if (role !== "ticker" || other === undefined) return role;
    throw invalid(this.#reading.position(this.#ticker), `has a row of ${quote(String(other))}`);
  }

  #column(column: number): Float64Array {
    const cells = this.#cells[column] ?? [];
    return Float64Array.from(cells, (cell, row) => numberOf(cell, () => this.#position("data", row, column)));
  }

  #position(part: string, ...keys: number[]): Position {
    if (this.#ticker !== undefined) return this.#reading.position(this.#ticker, part, ...keys);
    return { source: this.#reading.source, path: this.#reading.position(part, ...keys).path! };
  }
}
