import { MucastError } from "../contract/errors/errors.ts";
import { counted } from "../contract/errors/wording.ts";
import type { RequestedWindow, TickerSeries } from "../contract/market/ticker-series.ts";
import { dayOfText, isDateKey, whyNoDate } from "./date-text.ts";
import { boundOf, Calendar, WindowBounds } from "./dates.ts";
import { invalid, kindOf, NOT_A_BLOB, quote } from "./faults.ts";
import type { BlobKind } from "./field-names.ts";
import { inOrder, type JsonScanner, nameOf, type Piece } from "./json-scanner.ts";
import { readTicker, readWideSplit, type SplitParts, type Undated } from "./layouts.ts";
import { isMembers, type Reading } from "./reading.ts";
import { RowTable } from "./row-table.ts";

/** Keys that may wrap the tickers, in order of preference: if a blob has several, the first counts. */
const WRAPPERS: Record<BlobKind, readonly string[]> = {
  prices: ["prices", "data", "features"],
  features: ["features", "data", "prices"],
};

/** Keys of an array with the dates of all tickers of a container. */
const SHARED_DATES: ReadonlySet<string> = new Set(["dates", "date", "Date", "timestamp"]);
/** Keys whose object may contain the bounds of the window. */
const WINDOW_HOLDERS: ReadonlySet<string> = new Set(["dates", "window", "sample", "metadata"]);

type Steps<T> = AsyncGenerator<TickerSeries, T, void>;

/**
 * Reads a JSON document to its end, and finds its layout on the way: an array of records, or a container. In a container, the name of each
 * entry says what it is (`Container.#readEntry`): bounds or dates for all, a wrapper with a container or records in it, a part of a split
 * table, a day with rows of tickers, or a ticker.
 * @returns the window, if the blob has one.
 */
export async function* readDocument(json: JsonScanner, reading: Reading): Steps<RequestedWindow> {
  const bounds = new WindowBounds(reading.source);
  const begins = await json.next();
  if (begins === "array") {
    const records = new RowTable(reading, true);
    for await (const piece of json.elements()) addRecords(records, piece, reading);
    yield* records.finish();
  } else if (begins === "object") {
    const top = new Container(json, reading, bounds);
    yield* top.read();
    if (!top.isKnown && reading.tickers.size === 0)
      throw invalid(reading.position(), "the blob contains no tickers in any known layout", NOT_A_BLOB);
  } else {
    const what = `the blob is ${kindOf((await json.piece()).value)}, which is not a known layout`;
    throw invalid(reading.position(), what, NOT_A_BLOB);
  }
  await json.finish();
  return bounds.window();
}

/** An object of the blob that contains tickers, or that wraps such an object. Its `dates` are the dates of all tickers inside. */
class Container {
  readonly #json: JsonScanner;
  readonly #reading: Reading;
  readonly #bounds: WindowBounds;
  readonly #parent: Container | undefined;
  /** Whether anything in it has a known layout, even without tickers. */
  isKnown = false;
  /** Reserved names that were read. */
  readonly #names = new Set<string>();
  /** Whether a ticker was read directly in this container. */
  #hasTickers = false;
  /** The key of the wrapper that was read; other keys beside it are skipped. */
  #wrapper: string | undefined;
  /** The fault of the first unknown key that is not a ticker; it is thrown unless the container has a wrapper. */
  #unknownKey: MucastError | undefined;
  /** A split table with a column per ticker. */
  readonly #split: { -readonly [part in keyof SplitParts]: unknown[] } = {};
  /** Rows by day. */
  readonly #rows: RowTable;
  #calendar: Calendar | undefined;
  #usedCalendarAbove = false;
  #undated: Undated[] = [];

  constructor(json: JsonScanner, reading: Reading, bounds: WindowBounds, parent?: Container) {
    this.#json = json;
    this.#reading = reading;
    this.#bounds = bounds;
    this.#parent = parent;
    this.#rows = new RowTable(reading, true);
  }

  async *read(): Steps<void> {
    for await (const name of this.#json.keys()) yield* this.#readEntry(name);
    if (this.#wrapper === undefined) {
      if (this.#unknownKey !== undefined) throw this.#unknownKey;
      const { columns, index, data } = this.#split;
      // Beside tickers, an index alone numbers their rows.
      const isSplit = (columns ?? data ?? (this.#hasTickers ? undefined : index)) !== undefined;
      if (isSplit) yield* readWideSplit(this.#reading, this.#split);
      yield* this.#rows.finish();
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
    const isPart = name === "columns" || name === "index";
    if (isBound || isWrapper || isPart || SHARED_DATES.has(name) || WINDOW_HOLDERS.has(name)) {
      if (this.#names.has(name)) throw invalid(this.#reading.position(), `${quote(name)} comes twice`);
      this.#names.add(name);
    }
    if (isBound) this.#readHolder({ [name]: (await this.#json.piece()).value });
    else if (SHARED_DATES.has(name)) yield* this.#readDates(name, (await this.#json.piece()).value);
    else if (WINDOW_HOLDERS.has(name)) this.#readHolder((await this.#json.piece()).value);
    else if (isWrapper) yield* this.#readWrapper(name);
    else if (this.#wrapper !== undefined) await this.#json.skip();
    else if (isDateKey(name)) this.#readDay(name, inOrder(await this.#json.piece()));
    else {
      const isObject = (await this.#json.next()) === "object" && !isPart;
      const members = isObject ? await this.#json.members(name) : undefined;
      const value = isObject ? undefined : inOrder(await this.#json.piece(name));
      try {
        if (!isPart) yield* this.#readTicker(readTicker(this.#reading, name, members, value));
        else if (!Array.isArray(value)) throw this.#unknown(value, name);
        else this.#split[name] = value;
      } catch (error) {
        // Whatever the key is, its text must be JSON.
        for (const { value: _ } of members ?? []);
        this.#keep(error);
      }
    }
  }

  #readHolder(value: unknown): void {
    if (!isMembers(value) || this.#reading.kind === "features") return;
    for (const [name, bound] of Object.entries(value)) this.#bounds.add(name, bound);
  }

  /** Reads shared dates or, under `dates`, the bounds of the window. A single `date` or `timestamp` is ignored. */
  *#readDates(name: string, value: unknown): Generator<TickerSeries, void, void> {
    if (!Array.isArray(value)) {
      if (WINDOW_HOLDERS.has(name)) this.#readHolder(value);
      if (name === "dates" && value !== null && !isMembers(value)) throw this.#unknown(value, name);
      return;
    }
    const fault = (what: string) => invalid(this.#reading.position(), what);
    if (this.#usedCalendarAbove)
      throw fault("dates come after tickers for which other dates were already used");
    if (this.#calendar !== undefined) throw fault("there is a second array of dates");
    this.#calendar = Calendar.of(value, (...at) => this.#reading.place(name, ...at));
    for (const waiting of this.#undated.splice(0)) yield this.#dated(waiting, this.#calendar);
  }

  #readDay(name: string, value: unknown): void {
    if (!isMembers(value)) throw this.#unknown(value, name);
    const day = dayOfText(name);
    if (Number.isNaN(day)) throw invalid(this.#reading.position(), `${quote(name)} ${whyNoDate(name)}`);
    for (const [key, row] of Object.entries(value)) this.#rows.addDated(row, nameOf(key), day);
  }

  *#readTicker(found: TickerSeries | Undated): Generator<TickerSeries, void, void> {
    const calendar = "days" in found ? undefined : this.#knownCalendar();
    if ("days" in found) yield found;
    else if (calendar !== undefined) yield this.#dated(found, calendar);
    else {
      this.#reading.hold(found.values.length);
      this.#undated.push(found);
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
    const isFirst = name === order[0];
    const { depth } = this.#json;
    try {
      yield* this.#readWrapped(name);
    } catch (error) {
      // A wrapper with another name may be unrelated to tickers.
      if (isFirst || this.#reading.tickers.size > before) throw error;
      this.#keep(error);
      await this.#json.leave(depth);
      return;
    }
    this.isKnown = true;
    if (isFirst || this.#reading.tickers.size > before) this.#wrapper = name;
  }

  async *#readWrapped(name: string): Steps<void> {
    const begins = await this.#json.next();
    if (begins === "object") {
      yield* new Container(this.#json, this.#reading, this.#bounds, this).read();
    } else if (begins === "array") {
      const records = new RowTable(this.#reading, true);
      if (name === "data" && (this.#split.columns ?? this.#split.index) !== undefined) this.#split.data = [];
      /** Rows of a split table, or else records, as the first element is. */
      let isSplit: boolean | undefined;
      for await (const piece of this.#json.elements()) {
        const [first] = piece.value;
        if (isSplit === undefined) {
          isSplit = name === "data" && Array.isArray(first);
          if (!isSplit && !isMembers(first)) throw this.#unknown(first, name, 0);
        }
        if (isSplit) {
          this.#split.data ??= [];
          for (const row of piece.value) this.#split.data.push(row);
          this.#reading.hold(piece.value.length * (Array.isArray(first) ? first.length : 1));
        } else addRecords(records, piece, this.#reading);
      }
      yield* records.finish();
    } else throw this.#unknown((await this.#json.piece()).value, name);
  }

  /** Keeps the fault of a key that may be unrelated to tickers; it is an error only if the container has no wrapper. */
  #keep(error: unknown): void {
    if (this.#hasTickers || !(error instanceof MucastError && error.code === "invalid_data")) throw error;
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
    const what = `is ${kindOf(value)}, which is not a known layout`;
    return invalid(this.#reading.place(name, ...keys), what, NOT_A_BLOB);
  }
}

/** Adds an array of records. @throws MucastError invalid_data. */
function addRecords(table: RowTable, piece: Piece, reading: Reading): void {
  for (const record of inOrder(piece) as readonly unknown[]) {
    if (!isMembers(record)) throw invalid(reading.position(), `${kindOf(record)} is among records`);
    table.addRecord(record);
  }
}
