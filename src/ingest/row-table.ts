import { type Day, formatDay } from "../contract/market/dates.ts";
import { MAX_COLUMNS, type TickerSeries } from "../contract/market/ticker-series.ts";
import { Calendar, dayOf } from "./dates.ts";
import { invalid, kindOf, quote, tooLarge } from "./faults.ts";
import { isMembers, type Members, numberOf, type Reading } from "./reading.ts";

/** What is known of a record from outside it. */
export interface RowPlace {
  readonly ticker: string | undefined;
  readonly day: Day | undefined;
  /** The order of keys that JSON.parse has moved. */
  readonly order: ReadonlyMap<string, number> | undefined;
}

/** The roles of a record's keys. Successive records nearly always have the same. */
export class RecordShape {
  readonly keys: readonly string[];
  readonly date: string | undefined;
  readonly ticker: string | undefined;
  /** The ticker if there is no other. */
  readonly name: string | undefined;
  readonly values: readonly string[];

  constructor(reading: Reading, keys: readonly string[], order: RowPlace["order"]) {
    if (keys.length > MAX_COLUMNS)
      throw tooLarge({ source: reading.source }, `a record has more than ${MAX_COLUMNS} keys`);
    this.keys = keys;
    this.date = only(reading, keys, "date");
    this.ticker = only(reading, keys, "ticker");
    this.name = only(reading, keys, "name");
    const isValue = reading.kind === "features" ? ["value", "price"] : ["price"];
    this.values = keys.filter((key) => isValue.includes(reading.roles.of(key).role));
    if (order !== undefined) this.values = this.values.toSorted((a, b) => order.get(a)! - order.get(b)!);
  }

  static isOf(shape: RecordShape | undefined, keys: readonly string[]): shape is RecordShape {
    return (
      shape !== undefined &&
      keys.length === shape.keys.length &&
      keys.every((key, i) => key === shape.keys[i])
    );
  }
}

/**
 * The key of a role. A price blob may have several; the one of the lowest rank counts. In a feature blob several are a fault, because
 * the others would silently not become features.
 */
function only(
  reading: Reading,
  keys: readonly string[],
  role: "date" | "ticker" | "name",
): string | undefined {
  const rank = (key: string) => reading.roles.of(key).rank;
  const [best, next] = keys
    .filter((key) => reading.roles.of(key).role === role)
    .sort((a, b) => rank(a) - rank(b));
  if (next !== undefined && (reading.kind === "features" || rank(best!) === rank(next))) {
    const what = `a record has two ${role}s, ${quote(best!)} and ${quote(next)}`;
    throw invalid({ source: reading.source }, what);
  }
  return best;
}

/** The ticker of a record. @throws MucastError invalid_data if it is missing, wrong, or not that of its place. */
export function tickerOf(
  reading: Reading,
  record: Members,
  shape: RecordShape,
  place: string | undefined,
): string {
  const key = shape.ticker ?? (place === undefined ? shape.name : undefined);
  if (key === undefined) {
    if (place !== undefined) return place;
    throw invalid({ source: reading.source }, "a record has no ticker or symbol");
  }
  const value = record[key];
  const ticker = Number.isSafeInteger(value) ? String(value) : value;
  if (typeof ticker !== "string") {
    const what = `${quote(key)} is ${kindOf(value)}; a string is expected`;
    throw invalid(reading.position(place), what);
  }
  if (place === undefined || ticker === place) return ticker;
  throw invalid(reading.position(place), `has a record of ${quote(ticker)}`);
}

/** A ticker's table that is filled row by row. A row may have any of the columns; the others are missing. */
export class RowTable {
  readonly #reading: Reading;
  readonly #columns = new Map<string, Float64Array>();
  #days = new Int32Array(4);
  #rows = 0;
  #shape: RecordShape | undefined;
  /** The columns of the last shape's values. */
  #slots: Float64Array[] = [];
  #slotsOf: RecordShape | undefined;

  constructor(reading: Reading) {
    this.#reading = reading;
  }

  /** @throws MucastError invalid_data for a record with a fault. */
  add(record: Members, place: RowPlace & { readonly ticker: string }): void {
    const keys = Object.keys(record);
    if (!RecordShape.isOf(this.#shape, keys)) this.#shape = new RecordShape(this.#reading, keys, place.order);
    const { ticker } = place;
    tickerOf(this.#reading, record, this.#shape, ticker);
    this.addShaped(record, this.#shape, ticker, place.day);
  }

  addShaped(record: Members, shape: RecordShape, ticker: string, placed: Day | undefined): void {
    const day = this.#dayOf(record, shape, ticker, placed);
    const row = this.#begin(day);
    if (this.#slotsOf !== shape) {
      this.#slots = shape.values.map((key) => this.#column(key));
      this.#slotsOf = shape;
    }
    for (let j = 0; j < shape.values.length; j++) {
      const key = shape.values[j]!;
      const value = record[key];
      this.#slots[j]![row] =
        typeof value === "number" && value - value === 0
          ? value
          : numberOf(value, () => this.#reading.position(ticker, formatDay(day), key));
    }
  }

  /** Adds the value of a date: a record, or only the price. @throws MucastError invalid_data. */
  addDated(value: unknown, place: RowPlace & { readonly ticker: string; readonly day: Day }): void {
    const { ticker, day } = place;
    if (isMembers(value)) {
      this.add(value, place);
      return;
    }
    const position = () => this.#reading.position(ticker, formatDay(day));
    if (this.#reading.kind === "prices" && (value === null || typeof value === "number")) {
      const row = this.#begin(day);
      this.#column("price")[row] = numberOf(value, position);
      return;
    }
    const expected =
      this.#reading.kind === "features" ? "an object of columns" : "an object of columns, a number or null";
    throw invalid(position(), `is ${kindOf(value)}; ${expected} is expected`);
  }

  /** The whole ticker, with its days in order. @throws MucastError invalid_data for a repeated date. */
  series(ticker: string): TickerSeries {
    const n = this.#rows;
    const columns = [...this.#columns.keys()];
    // Without rows the columns are unknown.
    this.#reading.claim(ticker, n === 0 ? ["price"] : columns, n);
    const calendar = new Calendar(this.#days.subarray(0, n), this.#reading.position(ticker));
    const values = new Float64Array(columns.length * n);
    let at = 0;
    for (const column of this.#columns.values()) {
      values.set(column.subarray(0, n), at);
      at += n;
    }
    calendar.arrange(values);
    return { ticker, days: calendar.days, columns, values };
  }

  #dayOf(record: Members, { date }: RecordShape, ticker: string, placed: Day | undefined): Day {
    if (date === undefined) {
      if (placed !== undefined) return placed;
      throw invalid(this.#reading.position(ticker), "has a record without date");
    }
    const position = this.#reading.position(ticker, date);
    const day = dayOf(record[date], position);
    if (placed === undefined || day === placed) return day;
    throw invalid(position, `is ${formatDay(day)} in the record of ${formatDay(placed)}`);
  }

  #begin(day: Day): number {
    const row = this.#rows++;
    if (row === this.#days.length) {
      const length = 2 * row;
      this.#reading.hold(row * (1 + this.#columns.size));
      this.#days = grown(this.#days, new Int32Array(length));
      this.#slotsOf = undefined;
      for (const [name, column] of this.#columns)
        this.#columns.set(name, grown(column, new Float64Array(length).fill(Number.NaN)));
    }
    this.#days[row] = day;
    return row;
  }

  #column(key: string): Float64Array {
    const known = this.#columns.get(key);
    if (known !== undefined) return known;
    if (this.#columns.size === MAX_COLUMNS)
      throw tooLarge({ source: this.#reading.source }, `a ticker has more than ${MAX_COLUMNS} columns`);
    this.#reading.hold(this.#days.length);
    const column = new Float64Array(this.#days.length).fill(Number.NaN);
    this.#columns.set(this.#reading.columnName(key), column);
    return column;
  }
}

function grown<T extends Int32Array | Float64Array>(from: T, into: T): T {
  into.set(from);
  return into;
}
