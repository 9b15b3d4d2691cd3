import type { TickerSeries } from "../../contract/market/ticker-series.ts";
import type { BlockSpan } from "../block-store.ts";
import { Calendar } from "../dates/calendar.ts";
import { claimTicker, positionOf, type Reading, recordTicker, type Steps } from "../reading.ts";
import type { ColumnReader, TickerNumbers } from "./column-reader.ts";
import type { Footer } from "./footer.ts";

/** The rows of a row group in the store, sorted by ticker. */
interface StoredGroup {
  /** Byte offset of its dates, for errors. */
  readonly offset: number;
  readonly days: BlockSpan;
  /** One for each column. */
  readonly values: readonly BlockSpan[];
}

/** A ticker's rows: for each row group that has some, its number, the first of the rows there, and how many follow. */
interface FoundRows {
  readonly ticker: string;
  readonly offset: number;
  readonly pieces: number[];
  rows: number;
}
const PIECE = 3;

/**
 * A table with a row for each ticker and date, in any order. Row groups are read one after the other, column by column. Each
 * column is stored with the rows of a ticker side by side, so that a ticker's column can be read in a few pieces once the whole
 * table has been read.
 */
export class LongTable implements TickerNumbers {
  readonly #reading: Reading;
  readonly #footer: Footer;
  readonly #reader: ColumnReader;
  readonly #names: readonly string[];
  readonly #groups: StoredGroup[] = [];
  readonly #tickers: FoundRows[] = [];
  readonly #numbers = new Map<string, number>();

  constructor(reading: Reading, footer: Footer, reader: ColumnReader, names: readonly string[]) {
    this.#reading = reading;
    this.#footer = footer;
    this.#reader = reader;
    this.#names = names;
  }

  numberOf(ticker: string, offset: number): number {
    const known = this.#numbers.get(ticker);
    if (known !== undefined) return known;
    const number = this.#tickers.length;
    const kept = recordTicker(this.#reading, number, ticker, offset);
    this.#numbers.set(kept, number);
    this.#tickers.push({ ticker: kept, offset, pieces: [], rows: 0 });
    return number;
  }

  /** Reads all row groups, and yields undefined after each column. */
  *read(date: number, ticker: number, values: readonly number[]): Steps<void> {
    const { columns, groups } = this.#footer;
    let before = 0;
    for (let g = 0; g < groups; g++) {
      const group = this.#footer.group(g);
      const of = (index: number) => ({ column: columns[index]!, index, group, before });
      const tickers = this.#reader.tickers(of(ticker), this);
      yield;
      const slots = this.#slots(tickers);
      const days = this.#reader.days(of(date));
      yield;
      const sorted = new Float64Array(group.rows);
      for (let i = 0; i < group.rows; i++) sorted[slots === undefined ? i : slots[i]!] = days[i]!;
      const { store } = this.#reading;
      const stored = {
        offset: group.chunks[date]!.start,
        days: store.append(sorted),
        values: [] as BlockSpan[],
      };
      for (const index of values) {
        this.#reader.numbers(of(index), slots, sorted);
        stored.values.push(store.append(sorted));
        yield;
      }
      this.#groups.push(stored);
      before += group.rows;
    }
    yield* this.#finish();
  }

  /** Assigns each row of a group its position among the rows sorted by ticker; undefined if they are sorted already. */
  #slots(tickers: Uint32Array): Uint32Array | undefined {
    const counts = new Map<number, number>();
    let runs = 0;
    for (let start = 0, end = 0; start < tickers.length; start = end) {
      const ticker = tickers[start]!;
      while (end < tickers.length && tickers[end] === ticker) end++;
      counts.set(ticker, (counts.get(ticker) ?? 0) + end - start);
      runs++;
    }
    const next = new Uint32Array(this.#tickers.length);
    let at = 0;
    for (const [ticker, count] of counts) {
      const found = this.#tickers[ticker]!;
      found.pieces.push(this.#groups.length, at, count);
      found.rows += count;
      next[ticker] = at;
      at += count;
    }
    return runs === counts.size ? undefined : tickers.map((ticker) => next[ticker]!++);
  }

  *#finish(): Steps<void> {
    for (const { ticker, offset, pieces, rows: n } of this.#tickers) {
      const columns = this.#names;
      claimTicker(this.#reading, { ticker, offset, columns, n });
      yield this.#series(ticker, pieces, n);
    }
  }

  #series(ticker: string, pieces: readonly number[], n: number): TickerSeries {
    const columns = this.#names;
    const days = new Float64Array(n);
    const values = new Float64Array(columns.length * n);
    const { store } = this.#reading;
    let at = 0;
    for (let p = 0; p < pieces.length; p += PIECE) {
      const group = this.#groups[pieces[p]!]!;
      const start = pieces[p + 1]!;
      const count = pieces[p + 2]!;
      store.read(group.days, start, days.subarray(at, at + count));
      for (let j = 0; j < columns.length; j++) {
        store.read(group.values[j]!, start, values.subarray(j * n + at, j * n + at + count));
      }
      at += count;
    }
    const calendar = new Calendar(days, (row) =>
      positionOf(this.#reading, this.#offsetOf(pieces, row), ticker),
    );
    calendar.arrange(values);
    return { ticker, columns, days: calendar.days, values };
  }

  #offsetOf(pieces: readonly number[], row: number): number {
    let end = 0;
    for (let p = 0; p < pieces.length; p += PIECE) {
      end += pieces[p + 2]!;
      if (row < end) return this.#groups[pieces[p]!]!.offset;
    }
    return 0;
  }
}
