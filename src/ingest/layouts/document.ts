import { MucastError } from "../../contract/errors/errors.ts";
import type { RequestedWindow } from "../../contract/market/ticker-series.ts";
import { invalid, NOT_A_BLOB, quote } from "../blob-errors.ts";
import type { BlobKind } from "../column-names.ts";
import { DateList } from "../dates/date-list.ts";
import { isDateText, whyNoDate } from "../dates/date-text.ts";
import { boundOf, WINDOW_HOLDERS, WindowBounds } from "../dates/window-bounds.ts";
import { Token } from "../json/json-reader.ts";
import { nameOf, pathOf, positionOf, type Reading, type Steps } from "../reading.ts";
import { readFlatRecords, readTickersOfDay, TablesByTicker } from "./row-layouts.ts";
import { SplitTable } from "./split-table.ts";
import { readTicker } from "./ticker.ts";
import { TickerContainer } from "./ticker-container.ts";

/** Keys that may wrap the tickers, in order of preference: if a blob has several, the first counts. */
const WRAPPERS: Record<BlobKind, readonly string[]> = {
  prices: ["prices", "data", "features"],
  features: ["features", "data", "prices"],
};

const SHARED_DATES = new Set(["dates", "date", "Date", "timestamp"]);

/**
 * Reads a whole blob, to the end of its bytes, and finds its layout on the way:
 *
 * ```
 *  blob --- [ ---> records of all tickers (row-layouts.ts)
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
 *                    '-- another key --> ticker (ticker.ts finds its layout)
 *                                          '-- no ticker: an error, unless a wrapper follows
 * ```
 *
 * At the end of a container its split table or its rows by day become tickers, and tickers without dates go to the
 * container around it.
 * @returns the window, if the blob has one.
 */
export function* readDocument(reading: Reading): Steps<RequestedWindow> {
  const { json } = reading;
  const document = new Document(reading);
  const token = yield* json.take();
  if (token === Token.arrayStart) yield* readFlatRecords(reading);
  else if (token === Token.objectStart) yield* document.readTop();
  else
    throw invalid(
      positionOf(reading, json.offset),
      `the blob is ${nameOf(token)}, which is not a known layout`,
      NOT_A_BLOB,
    );
  yield* json.take();
  return document.window();
}

class Document {
  readonly #reading: Reading;
  readonly #bounds: WindowBounds;

  constructor(reading: Reading) {
    this.#reading = reading;
    this.#bounds = new WindowBounds(reading);
  }

  window(): RequestedWindow {
    return this.#bounds.window();
  }

  *readTop(): Steps<void> {
    const container = new TickerContainer(this.#reading, false);
    yield* this.#readContainer(container);
    const isKnown =
      container.wrapper !== undefined || container.hasEmptyWrapper || container.table !== undefined;
    if (isKnown || this.#reading.tickers.size > 0) return;
    throw invalid(
      positionOf(this.#reading, 0),
      "the blob contains no tickers in any known layout",
      NOT_A_BLOB,
    );
  }

  *#readContainer(container: TickerContainer): Steps<void> {
    const { json } = this.#reading;
    for (let token = yield* json.take(); token !== Token.objectEnd; token = yield* json.take()) {
      yield* this.#readEntry(container, json.text, json.offset);
    }
    if (container.wrapper === undefined) {
      if (container.unknownKey !== undefined) throw container.unknownKey;
      // Beside tickers, an index alone numbers their rows.
      const isNumbers = container.hasTickers && container.table?.isBegun === false;
      if (container.table !== undefined && !isNumbers) yield* container.table.finishWide();
      if (container.tables !== undefined) yield* container.tables.finish();
    }
    yield* container.close();
  }

  *#readEntry(container: TickerContainer, name: string, offset: number): Steps<void> {
    const { json, kind } = this.#reading;
    const bound = boundOf(name);
    const isWrapper = WRAPPERS[kind].includes(name);
    const isDates = SHARED_DATES.has(name);
    const isHolder = WINDOW_HOLDERS.has(name);
    if (bound !== undefined || isWrapper || isDates || isHolder) container.claimName(name, offset);
    if (bound !== undefined) yield* this.#bounds.readBound(name, bound);
    else if (isDates) yield* this.#readDates(container, name);
    else if (isHolder) yield* this.#readHolder();
    else if (isWrapper) yield* this.#readWrapper(container, name, offset);
    else if (container.wrapper !== undefined) yield* json.skip();
    else if (isDateText(name, json.day)) yield* this.#readDay(container, name);
    else if (name === "columns" || name === "index") {
      yield* this.#attempt(container, this.#readTablePart(container, name, offset));
    } else yield* this.#attempt(container, this.#readTicker(container, name, offset));
  }

  /** Reads shared dates or, under `dates`, the bounds of the window. A single `date` or `timestamp` is ignored. */
  *#readDates(container: TickerContainer, name: string): Steps<void> {
    const { json } = this.#reading;
    const token = yield* json.take();
    if (token === Token.arrayStart) {
      const { offset } = json;
      const list = new DateList(this.#reading, name);
      yield* list.read();
      yield* container.setCalendar(list.calendar(), offset);
    } else if (token === Token.objectStart && WINDOW_HOLDERS.has(name)) yield* this.#bounds.readHolder();
    else if (token === Token.objectStart) yield* json.skip(json.depth - 1);
    else if (name === "dates" && token !== Token.null) throw this.#unknown(token, name);
  }

  *#readHolder(): Steps<void> {
    const { json } = this.#reading;
    const token = yield* json.take();
    if (token === Token.objectStart) yield* this.#bounds.readHolder();
    else if (token === Token.arrayStart) yield* json.skip(json.depth - 1);
  }

  *#readWrapper(container: TickerContainer, name: string, offset: number): Steps<void> {
    const { json, kind, tickers } = this.#reading;
    const order = WRAPPERS[kind];
    const wrapper = container.wrapper;
    if (wrapper !== undefined && order.indexOf(wrapper) < order.indexOf(name)) {
      yield* json.skip();
      return;
    }
    if (container.hasTickers || wrapper !== undefined) {
      const beside = wrapper === undefined ? "tickers that are not in it" : quote(wrapper);
      throw invalid(
        positionOf(this.#reading, offset),
        `${quote(name)} is next to ${beside}; keep one of them`,
      );
    }
    const before = tickers.size;
    const isOwn = name === order[0];
    const steps = this.#readWrapped(container, name, offset, isOwn || container.isStrict);
    const isWrapper = isOwn ? yield* steps : yield* this.#attempt(container, steps);
    if (isWrapper !== true) return;
    if (isOwn || tickers.size > before) container.wrapper = name;
    else container.hasEmptyWrapper = true;
  }

  /** @returns whether the value contains tickers by itself; the rows of a split table do not. */
  *#readWrapped(container: TickerContainer, name: string, offset: number, isStrict: boolean): Steps<boolean> {
    const { json } = this.#reading;
    const token = yield* json.take();
    if (token === Token.objectStart) {
      yield* this.#readContainer(new TickerContainer(this.#reading, isStrict, container));
      return true;
    }
    if (token !== Token.arrayStart) throw this.#unknown(token, name);
    const first = yield* json.take();
    json.unread(first);
    const isRows = first === Token.arrayStart || (first === Token.arrayEnd && container.table !== undefined);
    if (name === "data" && isRows) {
      container.table ??= new SplitTable(this.#reading, offset);
      yield* container.table.readRows();
      return false;
    }
    if (first !== Token.objectStart && first !== Token.arrayEnd) throw this.#unknown(first, name, 0);
    yield* readFlatRecords(this.#reading);
    return true;
  }

  *#readTablePart(container: TickerContainer, name: string, offset: number): Steps<void> {
    const { json } = this.#reading;
    const token = yield* json.take();
    if (token !== Token.arrayStart) throw this.#unknown(token, name);
    container.table ??= new SplitTable(this.#reading, offset);
    if (name === "columns") yield* container.table.readHeaders();
    else {
      container.table.index = new DateList(this.#reading, name);
      yield* container.table.index.read();
    }
  }

  *#readDay(container: TickerContainer, name: string): Steps<void> {
    const { json } = this.#reading;
    const { day, offset } = json;
    if (Number.isNaN(day))
      throw invalid(positionOf(this.#reading, offset), `${quote(name)} ${whyNoDate(name)}`);
    const token = yield* json.take();
    if (token !== Token.objectStart) throw this.#unknown(token, name);
    container.tables ??= new TablesByTicker(this.#reading);
    yield* readTickersOfDay(this.#reading, container.tables, day);
  }

  *#readTicker(container: TickerContainer, name: string, offset: number): Steps<void> {
    yield* readTicker(this.#reading, container, name, offset);
    container.hasTickers = true;
    if (container.unknownKey !== undefined) throw container.unknownKey;
  }

  /**
   * Reads a value that may be unrelated to tickers. If it is not a ticker, that is an error only if the container has no wrapper, so the
   * error is kept until the container's end.
   */
  *#attempt<T>(container: TickerContainer, steps: Steps<T>): Steps<T | undefined> {
    const { json, tickers } = this.#reading;
    const { depth } = json;
    const before = tickers.size;
    try {
      return yield* steps;
    } catch (error) {
      const isKept = error instanceof MucastError && error.code === "invalid_data" && tickers.size === before;
      if (container.isStrict || container.hasTickers || !isKept) throw error;
      container.unknownKey ??= error;
      yield* json.skip(depth);
      return undefined;
    }
  }

  #unknown(token: Token, ...keys: [string, ...number[]]): MucastError {
    const position = positionOf(this.#reading, this.#reading.json.offset, undefined, pathOf(...keys));
    return invalid(position, `is ${nameOf(token)}, which is not a known layout`, NOT_A_BLOB);
  }
}
