import type { Day } from "../../contract/market/dates.ts";
import type { TickerSeries } from "../../contract/market/ticker-series.ts";
import type { BlockSpan } from "../block-store.ts";
import { Calendar } from "../dates/calendar.ts";
import { Doubles } from "../json/doubles.ts";
import { checkColumnCount, checkValueCount, positionOf, type Reading } from "../reading.ts";

/** Columns before the values of a row: its day and its byte offset. */
const DAY = 0;
const OFFSET = 1;
const LEADING = 2;

interface Run {
  readonly rows: number;
  readonly width: number;
  readonly values?: Float64Array;
  readonly block?: BlockSpan;
}

/**
 * A ticker's table that is filled row by row. A row may have any of the columns; the others are missing. Finished rows can
 * be moved to the store at any time.
 */
export class RowTable {
  readonly columns: string[] = [];
  rows = 0;
  readonly #reading: Reading;
  readonly #indices = new Map<string, number>();
  readonly #runs: Run[] = [];
  /** Rows one after the other, `#width` values each. */
  #pending = new Doubles(16);
  #width = LEADING;
  #row = new Float64Array(16);
  /** By column, the last row that has a value in it, counted from 1. */
  #lastRows = new Uint32Array(16);
  #expected = 0;

  constructor(reading: Reading) {
    this.#reading = reading;
  }

  get pending(): number {
    return this.#pending.length;
  }

  begin(day: Day, offset: number): void {
    this.rows++;
    this.#row.fill(Number.NaN);
    this.#row[DAY] = day;
    this.#row[OFFSET] = offset;
    this.#expected = 0;
  }

  /** Sets a value of the row. @returns false if the row has that column already. */
  put(name: string, value: number): boolean {
    return this.putAt(this.#indexOf(name), value);
  }

  putAt(column: number, value: number): boolean {
    if (this.#lastRows[column] === this.rows) return false;
    this.#lastRows[column] = this.rows;
    this.#row[LEADING + column] = value;
    return true;
  }

  end(): void {
    checkValueCount(this.#reading, this.rows * this.columns.length, this.#row[OFFSET]!);
    const needed = LEADING + this.columns.length;
    if (needed > this.#width) this.#widen(needed);
    const width = this.#width;
    const pending = this.#pending;
    pending.reserve(pending.length + width);
    for (let i = 0; i < width; i++) pending.values[pending.length + i] = this.#row[i]!;
    pending.length += width;
  }

  /**
   * Starts a run of wider rows. The first run has no spare columns, because most tickers have no columns beyond those of their first row.
   */
  #widen(needed: number): void {
    if (this.#pending.length > 0) this.#runs.push(this.#seal());
    // If every row adds a column, runs of one row would make reading one column as slow as reading all.
    const spare = this.#width === LEADING ? 0 : needed >> 2;
    this.#width = Math.min(needed + spare, this.#row.length);
  }

  addColumn(header: string): number {
    const column = this.columns.length;
    const offset = this.#row[OFFSET]!;
    checkColumnCount(this.#reading, column, offset);
    const name = this.#reading.names.column(header, positionOf(this.#reading, offset));
    this.columns.push(name);
    this.#indices.set(name, column);
    if (LEADING + column >= this.#row.length) {
      this.#row = lengthened(this.#row, Number.NaN);
      const lastRows = new Uint32Array(this.#row.length);
      lastRows.set(this.#lastRows);
      this.#lastRows = lastRows;
    }
    return column;
  }

  spill(): void {
    if (this.#pending.length > 0) this.#runs.push(this.#seal());
    for (let i = this.#runs.length - 1; i >= 0; i--) {
      const { rows, width, values } = this.#runs[i]!;
      if (values === undefined) break;
      this.#runs[i] = { rows, width, block: this.#reading.store.append(values) };
    }
  }

  /** The whole ticker, with its days in order. */
  finish(ticker: string): TickerSeries {
    const offsets = this.#leading(OFFSET);
    const calendar = new Calendar(this.#leading(DAY), (row) =>
      positionOf(this.#reading, offsets[row]!, ticker),
    );
    const n = this.rows;
    const values = new Float64Array(this.columns.length * n);
    for (let j = 0; j < this.columns.length; j++) this.column(j, values.subarray(j * n, (j + 1) * n));
    calendar.arrange(values);
    return { ticker, days: calendar.days, columns: this.columns, values };
  }

  offsets(): Float64Array {
    return this.#leading(OFFSET);
  }

  column(column: number, into: Float64Array): void {
    this.#gather(LEADING + column, into);
  }

  #leading(index: number): Float64Array {
    const values = new Float64Array(this.rows);
    this.#gather(index, values);
    return values;
  }

  #gather(index: number, into: Float64Array): void {
    let at = 0;
    for (const { rows, width, values, block } of this.#sealedRuns()) {
      const part = into.subarray(at, at + rows);
      if (index >= width) part.fill(Number.NaN);
      else if (values !== undefined) part.set(values.subarray(index * rows, (index + 1) * rows));
      else this.#reading.store.read(block!, index * rows, part);
      at += rows;
    }
  }

  #sealedRuns(): readonly Run[] {
    if (this.#pending.length > 0) this.#runs.push(this.#seal());
    return this.#runs;
  }

  #seal(): Run {
    const width = this.#width;
    const { values: pending, length } = this.#pending;
    const rows = length / width;
    const values = new Float64Array(length);
    for (let j = 0; j < width; j++) {
      for (let i = 0; i < rows; i++) values[j * rows + i] = pending[i * width + j]!;
    }
    this.#pending = new Doubles(16);
    return { rows, width, values };
  }

  #indexOf(name: string): number {
    const expected = this.#expected++;
    if (this.columns[expected] === name) return expected;
    const found = this.#indices.get(name) ?? this.addColumn(name);
    this.#expected = found + 1;
    return found;
  }
}

function lengthened(values: Float64Array, filler: number): Float64Array<ArrayBuffer> {
  const longer = new Float64Array(2 * values.length).fill(filler);
  longer.set(values);
  return longer;
}
