import { type Day, formatDay } from "../contract/market/dates.ts";
import type { TickerSeries } from "../contract/market/ticker-series.ts";
import { dayOf } from "./date-text.ts";
import { Calendar } from "./dates.ts";
import { invalid, kindOf, quote } from "./faults.ts";
import { nameOf } from "./json-scanner.ts";
import { isMembers, type Members, numberOf, type Reading } from "./reading.ts";

/** The roles of a record's keys. Successive records nearly always have the same. */
class RecordShape {
  readonly keys: readonly string[];
  readonly date: string | undefined;
  readonly ticker: string | undefined;
  /** The ticker if there is no other. */
  readonly name: string | undefined;
  readonly values: readonly string[];

  constructor({ roles, source }: Reading, keys: readonly string[]) {
    const fault = (what: string) => invalid({ source }, `a record ${what}`);
    this.keys = keys;
    this.date = roles.best(keys, "date", fault);
    this.ticker = roles.best(keys, "ticker", fault);
    this.name = roles.best(keys, "name", fault);
    this.values = keys.filter((key) => roles.of(key).isValue);
  }

  fits(keys: readonly string[]): boolean {
    return keys.length === this.keys.length && keys.every((key, i) => key === this.keys[i]);
  }
}

/** The rows of one ticker. A row may have any of the columns; the others are missing. */
interface Rows {
  readonly columns: Map<string, Float64Array>;
  days: Int32Array;
  count: number;
  /** The columns of the values of a shape: of the row before. */
  shape: RecordShape | undefined;
  slots: Float64Array[];
}

/** The rows of tickers, in the order of their first rows. */
export class RowTable {
  readonly #reading: Reading;
  readonly #isHeld: boolean;
  readonly #tickers = new Map<string, Rows>();
  #shape: RecordShape | undefined;

  constructor(reading: Reading, isHeld: boolean) {
    this.#reading = reading;
    this.#isHeld = isHeld;
  }

  /** Adds a record. @param ticker and @param day that its place has; without them the record must. @throws MucastError invalid_data. */
  addRecord(record: Members, ticker?: string, day?: Day): void {
    const keys = Object.keys(record);
    if (!this.#shape?.fits(keys)) this.#shape = new RecordShape(this.#reading, keys);
    const shape = this.#shape!;
    const name = this.#tickerOf(record, shape, ticker);
    const rows = this.#rowsOf(name);
    const date = this.#dayOf(record, shape, name, day);
    const row = this.#begin(rows, date);
    if (rows.shape !== shape) {
      rows.slots = shape.values.map((key) => this.#column(rows, nameOf(key)));
      rows.shape = shape;
    }
    for (let j = 0; j < shape.values.length; j++) {
      const key = shape.values[j]!;
      const value = record[key];
      rows.slots[j]![row] =
        typeof value === "number" && value - value === 0
          ? value
          : numberOf(value, () => this.#reading.position(name, formatDay(date), nameOf(key)));
    }
  }

  /** Adds what a ticker has on a date: a record, or only the price. @throws MucastError invalid_data. */
  addDated(value: unknown, ticker: string, day: Day): void {
    if (isMembers(value)) {
      this.addRecord(value, ticker, day);
      return;
    }
    const position = () => this.#reading.position(ticker, formatDay(day));
    const isPrices = this.#reading.kind === "prices";
    if (!isPrices || (value !== null && typeof value !== "number")) {
      const expected = `an object of columns${isPrices ? ", a number or null" : ""}`;
      throw invalid(position(), `is ${kindOf(value)}; ${expected} is expected`);
    }
    const rows = this.#rowsOf(ticker);
    const row = this.#begin(rows, day);
    this.#column(rows, "price")[row] = numberOf(value, position);
  }

  /** The tickers, with their days in order. @throws MucastError invalid_data for a repeated date. */
  *finish(): Generator<TickerSeries, void, void> {
    for (const [ticker, { columns, days, count: n }] of this.#tickers) {
      const values = new Float64Array(columns.size * n);
      for (const [j, column] of [...columns.values()].entries()) values.set(column.subarray(0, n), j * n);
      const calendar = new Calendar(days.slice(0, n), this.#reading.position(ticker));
      yield this.#reading.complete(ticker, [...columns.keys()], calendar, values);
      this.#tickers.delete(ticker);
    }
  }

  #tickerOf(record: Members, shape: RecordShape, place: string | undefined): string {
    const key = shape.ticker ?? (place === undefined ? shape.name : undefined);
    if (key === undefined) {
      if (place !== undefined) return place;
      throw invalid(this.#reading.position(), "a record has no ticker or symbol");
    }
    const value = record[key];
    const ticker = Number.isSafeInteger(value) ? String(value) : value;
    const position = this.#reading.position(place);
    if (typeof ticker !== "string")
      throw invalid(position, `${quote(key)} is ${kindOf(value)}; a string is expected`);
    if (place !== undefined && ticker !== place) throw invalid(position, `has a record of ${quote(ticker)}`);
    return ticker;
  }

  #dayOf(record: Members, { date }: RecordShape, ticker: string, place: Day | undefined): Day {
    if (date === undefined) {
      if (place !== undefined) return place;
      throw invalid(this.#reading.position(ticker), "has a record without date");
    }
    const position = this.#reading.position(ticker, date);
    const day = dayOf(record[date], position);
    if (place === undefined || day === place) return day;
    throw invalid(position, `is ${formatDay(day)} in the record of ${formatDay(place)}`);
  }

  #rowsOf(ticker: string): Rows {
    const known = this.#tickers.get(ticker);
    if (known !== undefined) return known;
    const rows: Rows = { columns: new Map(), days: new Int32Array(4), count: 0, shape: undefined, slots: [] };
    this.#tickers.set(this.#reading.tickerName(ticker, this.#tickers.size), rows);
    return rows;
  }

  #begin(rows: Rows, day: Day): number {
    const row = rows.count++;
    if (row === rows.days.length) {
      if (this.#isHeld) this.#reading.hold(row * (1 + rows.columns.size));
      const days = new Int32Array(2 * row);
      days.set(rows.days);
      rows.days = days;
      rows.shape = undefined;
      for (const [name, column] of rows.columns) {
        const longer = new Float64Array(2 * row).fill(Number.NaN);
        longer.set(column);
        rows.columns.set(name, longer);
      }
    }
    rows.days[row] = day;
    return row;
  }

  #column(rows: Rows, name: string): Float64Array {
    const known = rows.columns.get(name);
    if (known !== undefined) return known;
    if (this.#isHeld) this.#reading.hold(rows.days.length);
    const column = new Float64Array(rows.days.length).fill(Number.NaN);
    rows.columns.set(this.#reading.columnName(name), column);
    return column;
  }
}
