import { MucastError } from "../contract/errors/errors.ts";
import { counted } from "../contract/errors/wording.ts";
import type { RequestedWindow, TickerSeries } from "../contract/market/ticker-series.ts";
import type { BlobKind } from "./column-names.ts";
import { dayOfText, whyNoDate } from "./date-text.ts";
import { boundOf, type Calendar, isDateKey, WINDOW_HOLDERS, WindowBounds } from "./dates.ts";
import { invalid, kindOf, NOT_A_BLOB, quote } from "./faults.ts";
import type { JsonScanner, Piece } from "./json-scanner.ts";
import { calendarOf, isMembers, type Reading } from "./reading.ts";
import { RecordShape, RowTable, tickerOf } from "./row-table.ts";
import { SplitTable } from "./split-table.ts";
import { ordered, readTicker, type Undated } from "./tickers.ts";

/** Keys that may wrap the tickers, in order of preference: if a blob has several, the first counts. */
const WRAPPERS: Record<BlobKind, readonly string[]> = {
  prices: ["prices", "data", "features"],
  features: ["features", "data", "prices"],
};

/** Keys of an array with the dates of all tickers of a container. */
const SHARED_DATES = new Set(["dates", "date", "Date", "timestamp"]);

type Steps<T> = AsyncGenerator<TickerSeries, T, void>;

/**
 * Reads a JSON document to its end, and finds its layout on the way:
 *
 * ```
 *  blob --- [ ---> records of all tickers
 *    |
 *    '----- { ---> container <---------------------------------------------------.
 *                    |                                                           |
 *                    |-- start, end, Learning_end --> bound of the window        |
 *                    |-- window, sample, metadata --> its bounds                 |
 *                    |-- dates ---- [ --> shared dates; waiting tickers get them |
 *                    |          '-- { --> bounds of the window                   |
 *                    |-- prices, data, features (wrappers)                       |
 *                    |          |-- { --> container inside this one -------------'
 *                    |          |-- [ { --> records of all tickers
 *                    |          '-- [ [ --> rows of a split table (data only)
 *                    |-- columns, index --> split table with a column per ticker
 *                    |-- a date ---- { --> rows of all tickers on that day
 *                    |-- another key beside a wrapper --> skipped
 *                    '-- another key --> ticker (tickers.ts finds its layout)
 *                                          '-- no ticker: an error, unless a wrapper follows
 * ```
 *
 * At the end of a container its split table or its rows by day become tickers, and tickers without dates go to the
 * container around it.
 * @returns the window, if the blob has one.
 */
export async function* readDocument(json: JsonScanner, reading: Reading): Steps<RequestedWindow> {
  const bounds = new WindowBounds(reading.source);
  const begins = await json.next();
  if (begins === "array") yield* readRecords(json, reading);
  else if (begins === "object") {
    const top = new Container(json, reading, bounds, false);
    yield* top.read();
    if (!top.isKnown && reading.tickers.size === 0)
      throw invalid(reading.position(), "the blob contains no tickers in any known layout", NOT_A_BLOB);
  } else {
    const { value } = await json.piece();
    throw invalid(
      reading.position(),
      `the blob is ${kindOf(value)}, which is not a known layout`,
      NOT_A_BLOB,
    );
  }
  await json.finish();
  return bounds.window();
}

/** An object of the blob that contains tickers, or that wraps such an object. Its `dates` are the dates of all tickers inside. */
class Container {
  readonly #json: JsonScanner;
  readonly #reading: Reading;
  readonly #bounds: WindowBounds;
  /** Whether every unknown key must be a ticker, because the wrapper has the name that the kind of blob prefers. */
  readonly #isStrict: boolean;
  readonly #parent: Container | undefined;
  readonly #names = new Set<string>();
  /** Whether a ticker was read directly in this container. */
  #hasTickers = false;
  /** The key of the wrapper that was read; other keys beside it are skipped. */
  #wrapper: string | undefined;
  #hasEmptyWrapper = false;
  /** The fault of the first unknown key that is not a ticker; it is thrown unless the container has a wrapper. */
  #unknownKey: MucastError | undefined;
  /** A split table with a column per ticker. */
  #table: SplitTable | undefined;
  /** Rows by day. */
  readonly #tables: TablesByTicker;
  #calendar: Calendar | undefined;
  #usedCalendarAbove = false;
  #undated: Undated[] = [];

  constructor(
    json: JsonScanner,
    reading: Reading,
    bounds: WindowBounds,
    isStrict: boolean,
    parent?: Container,
  ) {
    this.#json = json;
    this.#reading = reading;
    this.#bounds = bounds;
    this.#isStrict = isStrict;
    this.#parent = parent;
    this.#tables = new TablesByTicker(reading);
  }

  /** Whether anything in it has a known layout, even without tickers. */
  get isKnown(): boolean {
    return this.#wrapper !== undefined || this.#hasEmptyWrapper || this.#table !== undefined;
  }

  async *read(): Steps<void> {
    for await (const name of this.#json.keys()) yield* this.#readEntry(name);
    if (this.#wrapper === undefined) {
      if (this.#unknownKey !== undefined) throw this.#unknownKey;
      // Beside tickers, an index alone numbers their rows.
      const isNumbers = this.#hasTickers && this.#table?.isBegun === false;
      if (this.#table !== undefined && !isNumbers) yield* this.#table.wide();
      yield* this.#tables.finish();
    }
    if (this.#parent !== undefined) this.#parent.#undated.push(...this.#undated);
    else {
      for (const { ticker, columns, n } of this.#undated) {
        if (n > 0)
          throw invalid(this.#reading.position(ticker), "has no dates, and the blob has none for all");
        yield { ticker, columns, days: new Int32Array(0), values: new Float64Array(0) };
      }
    }
  }

  async *#readEntry(name: string): Steps<void> {
    const isBound = boundOf(name) !== undefined;
    const isWrapper = WRAPPERS[this.#reading.kind].includes(name);
    if (isBound || isWrapper || SHARED_DATES.has(name) || WINDOW_HOLDERS.has(name)) {
      if (this.#names.has(name)) throw invalid(this.#reading.position(), `${quote(name)} comes twice`);
      this.#names.add(name);
    }
    if (isBound) this.#addBound(name, (await this.#json.piece()).value);
    else if (SHARED_DATES.has(name)) yield* this.#readDates(name, (await this.#json.piece()).value);
    else if (WINDOW_HOLDERS.has(name)) this.#readHolder((await this.#json.piece()).value);
    else if (isWrapper) yield* this.#readWrapper(name);
    else if (this.#wrapper !== undefined) await this.#json.skip();
    else if (isDateKey(name)) this.#readDay(name, await this.#json.piece());
    else {
      const piece = await this.#json.piece(name);
      try {
        if (name === "columns" || name === "index") this.#setPart(name, piece.value);
        else yield* this.#readTicker(name, piece);
      } catch (error) {
        this.#keep(error);
      }
    }
  }

  #addBound(name: string, value: unknown): void {
    if (this.#reading.kind === "prices") this.#bounds.add(name, value);
  }

  /** Reads shared dates or, under `dates`, the bounds of the window. A single `date` or `timestamp` is ignored. */
  async *#readDates(name: string, value: unknown): Steps<void> {
    if (!Array.isArray(value)) {
      if (isMembers(value) && WINDOW_HOLDERS.has(name)) this.#readHolder(value);
      else if (name === "dates" && value !== null && !isMembers(value)) throw this.#unknown(value, name);
      return;
    }
    if (this.#usedCalendarAbove) {
      const what = "dates come after tickers for which other dates were already used";
      throw invalid(this.#reading.position(), what);
    }
    if (this.#calendar !== undefined)
      throw invalid(this.#reading.position(), "there is a second array of dates");
    this.#calendar = calendarOf(value, this.#reading, undefined, name);
    const undated = this.#undated;
    this.#undated = [];
    for (const waiting of undated) yield this.#dated(waiting, this.#calendar);
  }

  #readHolder(value: unknown): void {
    if (isMembers(value)) for (const [name, bound] of Object.entries(value)) this.#addBound(name, bound);
  }

  #readDay(name: string, { value, text }: Piece): void {
    if (!isMembers(value)) throw this.#unknown(value, name);
    const day = dayOfText(name);
    if (Number.isNaN(day)) throw invalid(this.#reading.position(), `${quote(name)} ${whyNoDate(name)}`);
    const place = { day, order: ordered(Object.values(value), text) };
    for (const [ticker, row] of Object.entries(value))
      this.#tables.of(ticker).addDated(row, { ...place, ticker });
  }

  #setPart(name: string, value: unknown): void {
    if (!Array.isArray(value)) throw this.#unknown(value, name);
    this.#table ??= new SplitTable(this.#reading);
    this.#table.set(name, value);
  }

  async *#readTicker(name: string, piece: Piece): Steps<void> {
    const found = readTicker(this.#reading, name, piece);
    if ("days" in found) yield found;
    else {
      const calendar = this.#knownCalendar();
      if (calendar !== undefined) yield this.#dated(found, calendar);
      else {
        this.#reading.hold(found.values.length);
        this.#undated.push(found);
      }
    }
    this.#hasTickers = true;
    if (this.#unknownKey !== undefined) throw this.#unknownKey;
  }

  async *#readWrapper(name: string): Steps<void> {
    const order = WRAPPERS[this.#reading.kind];
    const wrapper = this.#wrapper;
    if (wrapper !== undefined && order.indexOf(wrapper) < order.indexOf(name)) return this.#json.skip();
    if (this.#hasTickers || wrapper !== undefined) {
      const beside = wrapper === undefined ? "tickers that are not in it" : quote(wrapper);
      throw invalid(this.#reading.position(), `${quote(name)} is next to ${beside}; keep one of them`);
    }
    const before = this.#reading.tickers.size;
    const isOwn = name === order[0];
    const begins = await this.#json.next();
    if (begins === "object") {
      // Without this wrapper's name, its value may be unrelated to tickers.
      const { depth } = this.#json;
      const inner = new Container(this.#json, this.#reading, this.#bounds, isOwn || this.#isStrict, this);
      try {
        yield* inner.read();
      } catch (error) {
        if (isOwn || this.#reading.tickers.size > before) throw error;
        this.#keep(error);
        return this.#json.leave(depth);
      }
    } else if (begins === "array") {
      const first = await this.#json.firstElement();
      if (name === "data" && (first === "array" || (first === "end" && this.#table !== undefined))) {
        this.#table ??= new SplitTable(this.#reading);
        this.#table.addRows([]);
        for await (const { value } of this.#json.elements()) this.#table.addRows(value);
        return;
      }
      if (first !== "object" && first !== "end") {
        const { value } = await this.#json.piece();
        const fault = this.#unknown((value as unknown[])[0], name, 0);
        return isOwn ? throwing(fault) : this.#keep(fault);
      }
      yield* readRecords(this.#json, this.#reading);
    } else {
      const fault = this.#unknown((await this.#json.piece()).value, name);
      return isOwn ? throwing(fault) : this.#keep(fault);
    }
    if (isOwn || this.#reading.tickers.size > before) this.#wrapper = name;
    else this.#hasEmptyWrapper = true;
  }

  /** Keeps the fault of a key that may be unrelated to tickers; it is an error only if the container has no wrapper. */
  #keep(error: unknown): void {
    const isKept = error instanceof MucastError && error.code === "invalid_data";
    if (this.#isStrict || this.#hasTickers || !isKept) throw error;
    this.#unknownKey ??= error;
  }

  #knownCalendar(): Calendar | undefined {
    if (this.#calendar !== undefined || this.#parent === undefined) return this.#calendar;
    const above = this.#parent.#knownCalendar();
    if (above !== undefined) this.#usedCalendarAbove = true;
    return above;
  }

  #dated({ ticker, columns, n, values }: Undated, calendar: Calendar): TickerSeries {
    const { days } = calendar;
    if (n !== days.length) {
      const what = `has columns of length ${n} beside ${counted(days.length, "date")}`;
      throw invalid(this.#reading.position(ticker), what);
    }
    calendar.arrange(values);
    return { ticker, days, columns, values };
  }

  #unknown(value: unknown, name: string, ...keys: number[]): MucastError {
    const path = keys.length === 0 ? name : this.#reading.position(name, ...keys).path!;
    const what = `is ${kindOf(value)}, which is not a known layout`;
    return invalid({ source: this.#reading.source, path }, what, NOT_A_BLOB);
  }
}

function throwing(error: Error): never {
  throw error;
}

/** The tables of tickers with mixed rows, in the order of the tickers' first rows. */
class TablesByTicker {
  readonly #reading: Reading;
  readonly #tables = new Map<string, RowTable>();

  constructor(reading: Reading) {
    this.#reading = reading;
  }

  /** The table of a ticker; a new one for its first row. */
  of(ticker: string): RowTable {
    let table = this.#tables.get(ticker);
    if (table !== undefined) return table;
    table = new RowTable(this.#reading);
    this.#tables.set(this.#reading.tickerName(ticker, this.#tables.size), table);
    return table;
  }

  *finish(): Generator<TickerSeries, void, void> {
    for (const [ticker, table] of this.#tables) {
      yield table.series(ticker);
      this.#tables.delete(ticker);
    }
  }
}

/** Reads an array of records of all tickers. */
async function* readRecords(json: JsonScanner, reading: Reading): Steps<void> {
  const tables = new TablesByTicker(reading);
  let shape: RecordShape | undefined;
  for await (const { value: records, text } of json.elements()) {
    const order = ordered(records, text);
    for (const record of records) {
      if (!isMembers(record)) throw invalid(reading.position(), `${kindOf(record)} is among records`);
      const keys = Object.keys(record);
      if (!RecordShape.isOf(shape, keys)) shape = new RecordShape(reading, keys, order);
      const ticker = tickerOf(reading, record, shape, undefined);
      tables.of(ticker).addShaped(record, shape, ticker, undefined);
    }
  }
  yield* tables.finish();
}
