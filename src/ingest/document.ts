import type { RequestedWindow } from "../contract/data/ticker-series.ts";
import { MucastError } from "../contract/errors/errors.ts";
import { invalid, quote } from "./blob-errors.ts";
import type { BlobKind } from "./column-names.ts";
import { DateList } from "./date-list.ts";
import { standsForDate } from "./date-text.ts";
import { Token } from "./json-reader.ts";
import { Level } from "./level.ts";
import { nameOf, pathOf, placeOf, type Reading, type Steps } from "./reading.ts";
import { readFlatRecords, readTickersOfDay, TablesByTicker } from "./row-layouts.ts";
import { SplitTable } from "./split-table.ts";
import { readTicker } from "./ticker.ts";
import { boundOf, WINDOW_HOLDERS, WindowBounds } from "./window-names.ts";

/** Keys that may wrap the tickers, the blob's own first. Of several the first of these is taken. */
const WRAPPERS: Record<BlobKind, readonly string[]> = {
  prices: ["prices", "data", "features"],
  features: ["features", "data", "prices"],
};

/** Keys of an array that holds the dates of all tickers of a level. */
const SHARED_DATES = new Set(["dates", "date", "Date", "timestamp"]);

/**
 * Reads a whole blob, to the end of its bytes, finding its layout out as it goes.
 * @returns the window, where the blob gives one.
 */
export function* readDocument(reading: Reading): Steps<RequestedWindow> {
  const { json } = reading;
  const document = new Document(reading);
  const token = yield* json.take();
  if (token === Token.arrayStart) yield* readFlatRecords(reading);
  else if (token === Token.objectStart) yield* document.readTop();
  else throw invalid(placeOf(reading, json.offset), `the blob is ${nameOf(token)}, which is no known layout`);
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
    const level = new Level(this.#reading, false);
    yield* this.#readLevel(level);
    const isKnown = level.wrapper !== undefined || level.hasEmptyWrapper || level.table !== undefined;
    if (isKnown || this.#reading.tickers.size > 0) return;
    throw invalid(
      placeOf(this.#reading, 0),
      "the blob holds no tickers in any known layout (docs/blobs.md shows them)",
    );
  }

  /** Reads the keys of an object whose start was just read. */
  *#readLevel(level: Level): Steps<void> {
    const { json } = this.#reading;
    for (let token = yield* json.take(); token !== Token.objectEnd; token = yield* json.take()) {
      yield* this.#readEntry(level, json.text, json.offset);
    }
    if (level.wrapper === undefined) {
      if (level.stranger !== undefined) throw level.stranger;
      if (level.table !== undefined) yield* level.table.finishWide();
      if (level.tables !== undefined) yield* level.tables.finish();
    }
    yield* level.close();
  }

  *#readEntry(level: Level, name: string, offset: number): Steps<void> {
    const { json, kind } = this.#reading;
    const bound = boundOf(name);
    const isWrapper = WRAPPERS[kind].includes(name);
    const isDates = SHARED_DATES.has(name);
    const isHolder = WINDOW_HOLDERS.has(name);
    if (bound !== undefined || isWrapper || isDates || isHolder) level.claimName(name, offset);
    if (bound !== undefined) yield* this.#bounds.readBound(name, bound);
    else if (isDates) yield* this.#readDates(level, name);
    else if (isHolder) yield* this.#readHolder();
    else if (isWrapper) yield* this.#readWrapper(level, name, offset);
    else if (level.wrapper !== undefined) yield* json.skip();
    else if (standsForDate(name, json.day)) yield* this.#readDay(level, name);
    else if (name === "columns" || name === "index") {
      yield* this.#attempt(level, this.#readTablePart(level, name, offset));
    } else yield* this.#attempt(level, this.#readTicker(level, name, offset));
  }

  /** Shared dates, or under `dates` the bounds of the window; a single `date` or `timestamp` says something else. */
  *#readDates(level: Level, name: string): Steps<void> {
    const { json } = this.#reading;
    const token = yield* json.take();
    if (token === Token.arrayStart) {
      const { offset } = json;
      const list = new DateList(this.#reading, name);
      yield* list.read();
      yield* level.setCalendar(list.calendar(), offset);
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

  *#readWrapper(level: Level, name: string, offset: number): Steps<void> {
    const { json, kind, tickers } = this.#reading;
    const order = WRAPPERS[kind];
    const taken = level.wrapper;
    if (taken !== undefined && order.indexOf(taken) < order.indexOf(name)) {
      yield* json.skip();
      return;
    }
    if (level.hasTickers || taken !== undefined) {
      const beside = taken === undefined ? "tickers that are not in it" : quote(taken);
      throw invalid(
        placeOf(this.#reading, offset),
        `${quote(name)} stands beside ${beside}; keep one of them`,
      );
    }
    const before = tickers.size;
    const isOwn = name === order[0];
    const steps = this.#readWrapped(level, name, offset, isOwn || level.isStrict);
    const isWrapper = isOwn ? yield* steps : yield* this.#attempt(level, steps);
    if (isWrapper !== true) return;
    if (isOwn || tickers.size > before) level.wrapper = name;
    else level.hasEmptyWrapper = true;
  }

  /** @returns whether the value was more than the rows of a split table. */
  *#readWrapped(level: Level, name: string, offset: number, isStrict: boolean): Steps<boolean> {
    const { json } = this.#reading;
    const token = yield* json.take();
    if (token === Token.objectStart) {
      yield* this.#readLevel(new Level(this.#reading, isStrict, level));
      return true;
    }
    if (token !== Token.arrayStart) throw this.#unknown(token, name);
    const first = yield* json.take();
    json.unread(first);
    const isRows = first === Token.arrayStart || (first === Token.arrayEnd && level.table !== undefined);
    if (name === "data" && isRows) {
      level.table ??= new SplitTable(this.#reading, offset);
      yield* level.table.readRows();
      return false;
    }
    if (first !== Token.objectStart && first !== Token.arrayEnd) throw this.#unknown(first, name, 0);
    yield* readFlatRecords(this.#reading);
    return true;
  }

  *#readTablePart(level: Level, name: string, offset: number): Steps<void> {
    const { json } = this.#reading;
    const token = yield* json.take();
    if (token !== Token.arrayStart) throw this.#unknown(token, name);
    level.table ??= new SplitTable(this.#reading, offset);
    if (name === "columns") yield* level.table.readHeaders();
    else {
      level.table.index = new DateList(this.#reading, name);
      yield* level.table.index.read();
    }
  }

  *#readDay(level: Level, name: string): Steps<void> {
    const { json } = this.#reading;
    const { day } = json;
    const token = yield* json.take();
    if (token !== Token.objectStart) throw this.#unknown(token, name);
    level.tables ??= new TablesByTicker(this.#reading);
    yield* readTickersOfDay(this.#reading, level.tables, day);
  }

  *#readTicker(level: Level, name: string, offset: number): Steps<void> {
    yield* readTicker(this.#reading, level, name, offset);
    level.hasTickers = true;
    if (level.stranger !== undefined) throw level.stranger;
  }

  /**
   * Reads what may turn out to be none of ours: where it is no ticker, that is an error only if no wrapper comes
   * beside it, so it is kept until then.
   */
  *#attempt<T>(level: Level, steps: Steps<T>): Steps<T | undefined> {
    const { json, tickers } = this.#reading;
    const { depth } = json;
    const before = tickers.size;
    try {
      return yield* steps;
    } catch (error) {
      const isKept = error instanceof MucastError && error.code === "invalid_data" && tickers.size === before;
      if (level.isStrict || level.hasTickers || !isKept) throw error;
      level.stranger ??= error;
      yield* json.skip(depth);
      return undefined;
    }
  }

  #unknown(token: Token, ...keys: [string, ...number[]]): MucastError {
    const place = placeOf(this.#reading, this.#reading.json.offset, undefined, pathOf(...keys));
    return invalid(place, `is ${nameOf(token)}, which is no known layout (docs/blobs.md shows them)`);
  }
}
