import { counted } from "../../contract/errors/wording.ts";
import type { TickerSeries } from "../../contract/market/ticker-series.ts";
import { invalid, type Position, quote } from "../blob-errors.ts";
import type { Calendar } from "../dates/calendar.ts";
import { DateList } from "../dates/date-list.ts";
import { Doubles } from "../json/doubles.ts";
import { Token } from "../json/json-reader.ts";
import {
  checkColumnCount,
  claimTicker,
  nameOf,
  pathOf,
  positionOf,
  type Reading,
  type Steps,
} from "../reading.ts";
import { RowTable } from "./row-table.ts";

/** The non-numeric cells of a column. Whether they are a fault is known only with the column's name. */
interface OddCells {
  fault?: { readonly position: Position; readonly what: string };
  dates?: DateList;
  otherTicker?: { readonly offset: number; readonly text: string };
}

/**
 * A pandas `orient="split"` table: `columns` are its names, `data` its rows, `index` its dates, in any order. A column
 * called date replaces the index.
 */
export class SplitTable {
  index: DateList | undefined;
  readonly #reading: Reading;
  readonly #ticker: string | undefined;
  readonly #offset: number;
  readonly #cells = new Doubles();
  readonly #odd: OddCells[] = [];
  #headers: string[] | undefined;
  #rows: RowTable | undefined;

  /** @param ticker of the table; none if each column is a ticker. */
  constructor(reading: Reading, offset: number, ticker?: string) {
    this.#reading = reading;
    this.#offset = offset;
    this.#ticker = ticker;
  }

  get isBegun(): boolean {
    return this.#headers !== undefined || this.#rows !== undefined;
  }

  setNoHeaders(): void {
    this.#headers = [];
  }

  setNoRows(): void {
    this.#rows = new RowTable(this.#reading);
  }

  *readHeaders(): Steps<void> {
    const { json } = this.#reading;
    const headers = new Set<string>();
    for (let token = yield* json.take(); token !== Token.arrayEnd; token = yield* json.take()) {
      const position = this.#positionOf(json.offset, "columns", headers.size);
      if (token !== Token.string)
        throw invalid(position, `is ${nameOf(token)}; the name of a column is expected`);
      json.checkName();
      if (headers.has(json.text)) throw invalid(position, `is ${quote(json.text)}, which comes twice`);
      checkColumnCount(this.#reading, headers.size, json.offset, this.#ticker);
      headers.add(this.#reading.names.column(json.text, positionOf(this.#reading, json.offset)));
    }
    this.#headers = [...headers];
  }

  *readRows(): Steps<void> {
    const { json } = this.#reading;
    const table = new RowTable(this.#reading);
    this.#rows = table;
    for (let token = yield* json.take(); token !== Token.arrayEnd; token = yield* json.take()) {
      const position = this.#positionOf(json.offset, "data", table.rows);
      if (token !== Token.arrayStart)
        throw invalid(position, `is ${nameOf(token)}; an array of values is expected`);
      yield* this.#readRow(table.rows);
      if (table.rows === 0) for (let j = 0; j < this.#cells.length; j++) table.addColumn(String(j));
      if (table.columns.length !== this.#cells.length) {
        throw invalid(
          position,
          `has ${counted(this.#cells.length, "value")}; the rows before it have ${table.columns.length}`,
        );
      }
      table.begin(0, position.offset);
      for (let j = 0; j < this.#cells.length; j++) table.putAt(j, this.#cells.values[j]!);
      table.end();
      if (table.pending > this.#reading.store.inMemory) table.spill();
    }
  }

  /** The table of one ticker. */
  finish(ticker: string): TickerSeries {
    const { headers, rows, calendar } = this.#whole();
    const wanted = this.#reading.kind === "prices" ? "price" : "value";
    const chosen = headers.map((_, j) => j).filter((j) => this.#roleOf(j) === wanted);
    const n = rows.rows;
    const values = new Float64Array(chosen.length * n);
    chosen.forEach((j, at) => {
      this.#column(j, values.subarray(at * n, (at + 1) * n));
    });
    calendar.arrange(values);
    const columns = chosen.map((j) => headers[j]!);
    claimTicker(this.#reading, { ticker, offset: this.#offset, columns, n });
    return { ticker, days: calendar.days, columns, values };
  }

  /** Yields the tickers of a price table with a column per ticker, each with a single column `price`. */
  *finishWide(): Steps<void> {
    if (this.#reading.kind === "features") {
      const what =
        "the blob is one split table, which does not tell tickers from features; write one a ticker";
      throw invalid(positionOf(this.#reading, this.#offset), what);
    }
    const { headers, rows, calendar } = this.#whole();
    for (const [j, ticker] of headers.entries()) {
      const role = this.#reading.roles.of(ticker).role;
      if (role === "date") continue;
      if (role === "ticker") {
        const what =
          "is a split table with a column of tickers; write it as records, or as one table a ticker";
        throw invalid(positionOf(this.#reading, this.#offset), what);
      }
      if (role === "price") {
        const what = `the blob is one split table with the column ${quote(ticker)}, but without tickers`;
        throw invalid(positionOf(this.#reading, this.#offset), what);
      }
      claimTicker(this.#reading, { ticker, offset: this.#offset, columns: ["price"], n: rows.rows });
      const values = new Float64Array(rows.rows);
      this.#column(j, values);
      calendar.arrange(values);
      yield { ticker, days: calendar.days, columns: ["price"], values };
    }
  }

  *#readRow(row: number): Steps<void> {
    const { json } = this.#reading;
    const { depth } = json;
    const cells = this.#cells;
    cells.clear();
    for (;;) {
      let token = json.numbers(cells);
      if (token === Token.arrayEnd) return;
      if (token === Token.more) {
        yield;
        continue;
      }
      token = yield* json.take();
      this.#noteOddCell(row, cells.length, token);
      cells.push(Number.NaN);
      yield* json.skip(depth);
    }
  }

  #noteOddCell(row: number, column: number, token: Token): void {
    const { json } = this.#reading;
    const { offset, text, day } = json;
    this.#odd[column] ??= {};
    const odd = this.#odd[column];
    odd.fault ??= {
      position: this.#positionOf(offset, "data", row, column),
      what: `is ${nameOf(token)}; a number or null is expected`,
    };
    if (token !== Token.string) return;
    if (row === 0) odd.dates = new DateList(this.#reading, `data[…][${column}]`, this.#ticker);
    if (odd.dates?.length === row) odd.dates.addText(text, day, offset);
    if (text !== this.#ticker) odd.otherTicker ??= { offset, text };
  }

  #whole() {
    const headers = this.#headers;
    const rows = this.#rows;
    const position = positionOf(this.#reading, this.#offset, this.#ticker);
    if (headers === undefined || rows === undefined) {
      throw invalid(position, this.#without(headers === undefined ? "columns" : "data"));
    }
    if (rows.rows > 0 && rows.columns.length !== headers.length) {
      throw invalid(
        position,
        `has ${counted(headers.length, "column")}; the rows of its data have ${counted(rows.columns.length, "value")}`,
      );
    }
    const calendar = this.#calendar(headers, rows, position);
    if (calendar.days.length === rows.rows) return { headers, rows, calendar };
    throw invalid(
      position,
      `has ${counted(rows.rows, "row")} of data beside ${counted(calendar.days.length, "date")}`,
    );
  }

  #calendar(headers: readonly string[], rows: RowTable, position: Position): Calendar {
    const column = this.#onlyDateColumn(headers, position);
    if (column === undefined) {
      if (this.index === undefined) throw invalid(position, this.#without("index"));
      return this.index.calendar();
    }
    const { fault, dates } = this.#odd[column] ?? {};
    if (dates?.length === rows.rows) return dates.calendar();
    if (fault !== undefined) {
      throw invalid(position, `has dates in its column ${quote(headers[column]!)} that are not all strings`);
    }
    const list = new DateList(this.#reading, `data[…][${column}]`, this.#ticker);
    const times = new Float64Array(rows.rows);
    rows.column(column, times);
    const offsets = rows.offsets();
    times.forEach((time, i) => {
      list.addNumber(time, offsets[i]!);
    });
    return list.calendar();
  }

  #without(part: string): string {
    return `${this.#ticker === undefined ? "the blob is" : "is"} a split table without ${part}`;
  }

  #onlyDateColumn(headers: readonly string[], position: Position): number | undefined {
    const roles = headers.map((name) => this.#reading.roles.of(name));
    const dates = headers.map((_, j) => j).filter((j) => roles[j]!.role === "date");
    const best = dates.toSorted((a, b) => roles[a]!.rank - roles[b]!.rank);
    if (best.length < 2) return best[0];
    if (this.#reading.kind === "prices" && roles[best[0]!]!.rank < roles[best[1]!]!.rank) return best[0];
    throw invalid(
      position,
      `has two columns of dates, ${quote(headers[best[0]!]!)} and ${quote(headers[best[1]!]!)}`,
    );
  }

  #roleOf(column: number): string {
    const { role } = this.#reading.roles.of(this.#headers![column]!);
    const other = this.#odd[column]?.otherTicker;
    if (role !== "ticker" || other === undefined) return role;
    throw invalid(positionOf(this.#reading, other.offset, this.#ticker), `has a row of ${quote(other.text)}`);
  }

  #column(column: number, into: Float64Array): void {
    const fault = this.#odd[column]?.fault;
    if (fault !== undefined) throw invalid(fault.position, fault.what);
    if (this.#rows!.rows > 0) this.#rows!.column(column, into);
  }

  #positionOf(offset: number, ...keys: (string | number)[]): Position {
    const ticker = this.#ticker;
    const [first, ...rest] = keys;
    const path = ticker === undefined ? pathOf(String(first), ...rest) : pathOf(ticker, ...keys);
    return positionOf(this.#reading, offset, ticker, path);
  }
}
