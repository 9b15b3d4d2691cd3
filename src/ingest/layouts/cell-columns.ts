import { type Day, formatDay } from "../../contract/market/dates.ts";
import type { TickerSeries } from "../../contract/market/ticker-series.ts";
import { invalid, type Position, quote } from "../blob-errors.ts";
import { Calendar } from "../dates/calendar.ts";
import { whyNoDate } from "../dates/date-text.ts";
import { Doubles } from "../json/doubles.ts";
import { Token } from "../json/json-reader.ts";
import {
  checkColumnCount,
  checkValueCount,
  claimTicker,
  nameOf,
  pathOf,
  positionOf,
  type Reading,
  type Steps,
} from "../reading.ts";

/** A ticker as an object of columns, each an object of values by date, as pandas writes a frame. */
export class CellColumns {
  readonly #reading: Reading;
  readonly #ticker: string;
  readonly #offset: number;
  readonly #names = new Set<string>();
  readonly #columns: string[] = [];
  /** By column; rows beyond a column's end are missing. */
  readonly #values: Doubles[] = [];
  readonly #rows = new Map<Day, number>();
  readonly #days = new Doubles();
  /** By row, the number of columns when it last got a value, to detect a repeated date in a column. */
  readonly #filled = new Doubles();

  constructor(reading: Reading, ticker: string, offset: number) {
    this.#reading = reading;
    this.#ticker = ticker;
    this.#offset = offset;
  }

  *read(firstName: string, firstOffset: number): Steps<void> {
    const { json } = this.#reading;
    let name = firstName;
    let offset = firstOffset;
    let token: Token = Token.objectStart;
    for (;;) {
      if (this.#names.has(name)) throw invalid(this.#positionOf(offset, name), "comes twice");
      checkColumnCount(this.#reading, this.#names.size, offset, this.#ticker);
      this.#names.add(name);
      yield* this.#readEntry(name, token);
      token = yield* json.take();
      if (token === Token.objectEnd) break;
      name = json.text;
      offset = json.offset;
      token = yield* json.take();
    }
    yield this.#finish();
  }

  *#readEntry(name: string, token: Token): Steps<void> {
    const { json, kind, roles } = this.#reading;
    const { role } = roles.of(name);
    const isOpen = token === Token.objectStart || token === Token.arrayStart;
    if (role === "ticker" && token === Token.string && json.text === this.#ticker) return;
    if (kind === "prices" && role !== "price") yield* json.skip(json.depth - (isOpen ? 1 : 0));
    else if (token === Token.objectStart) {
      this.#columns.push(this.#reading.names.column(name, positionOf(this.#reading, json.offset)));
      checkValueCount(this.#reading, this.#columns.length * this.#days.length, json.offset, this.#ticker);
      yield* this.#readCells(name);
    } else
      throw invalid(
        this.#positionOf(json.offset, name),
        `is ${nameOf(token)}; an object by date is expected`,
      );
  }

  *#readCells(name: string): Steps<void> {
    const { json } = this.#reading;
    const column = new Doubles();
    this.#values.push(column);
    const stamp = this.#values.length;
    let expected = 0;
    for (;;) {
      let token = json.next();
      if (token === Token.more) token = yield* json.wait();
      if (token === Token.objectEnd) return;
      const { text, day, offset } = json;
      if (Number.isNaN(day))
        throw invalid(this.#positionOf(offset, name), `has the key ${quote(text)}, which ${whyNoDate(text)}`);
      const row =
        this.#days.values[expected] === day && expected < this.#days.length ? expected : this.#rowOf(day);
      expected = row + 1;
      if (this.#filled.values[row] === stamp) {
        throw invalid(this.#positionOf(offset, name), `has the date ${formatDay(day)} twice`);
      }
      this.#filled.values[row] = stamp;
      token = json.next();
      if (token === Token.more) token = yield* json.wait();
      if (token !== Token.number && token !== Token.null) {
        const what = `is ${nameOf(token)}; a number or null is expected`;
        throw invalid(this.#positionOf(json.offset, name, formatDay(day)), what);
      }
      while (column.length <= row) column.push(Number.NaN);
      if (token === Token.number) column.values[row] = json.number;
    }
  }

  #rowOf(day: Day): number {
    const known = this.#rows.get(day);
    if (known !== undefined) return known;
    const row = this.#days.length;
    // A column may have as many values as there are rows.
    checkValueCount(this.#reading, this.#columns.length * (row + 1), this.#reading.json.offset, this.#ticker);
    this.#rows.set(day, row);
    this.#days.push(day);
    this.#filled.push(0);
    return row;
  }

  #finish(): TickerSeries {
    const ticker = this.#ticker;
    const columns = this.#columns;
    const n = this.#days.length;
    claimTicker(this.#reading, { ticker, offset: this.#offset, columns, n });
    const calendar = new Calendar(this.#days.view(), () => positionOf(this.#reading, this.#offset, ticker));
    const values = new Float64Array(columns.length * n).fill(Number.NaN);
    this.#values.forEach((column, j) => {
      values.set(column.view(), j * n);
    });
    calendar.arrange(values);
    return { ticker, days: calendar.days, columns, values };
  }

  #positionOf(offset: number, ...keys: (string | number)[]): Position {
    return positionOf(this.#reading, offset, this.#ticker, pathOf(this.#ticker, ...keys));
  }
}
