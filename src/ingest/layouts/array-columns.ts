import { counted } from "../../contract/errors/wording.ts";
import { invalid, type Position, quote } from "../blob-errors.ts";
import { DateList } from "../dates/date-list.ts";
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
import { SplitTable } from "./split-table.ts";
import type { TickerContainer } from "./ticker-container.ts";

/** The keys of a split table; a column may also be called `index` or `data`. */
const SPLIT_KEYS = ["columns", "index", "data"];

interface OwnDates {
  readonly name: string;
  readonly rank: number;
  readonly list: DateList;
}

/** A ticker as an object of arrays: one array per column, with its own dates or the shared ones; or the parts of a split table. */
export class ArrayColumns {
  readonly #reading: Reading;
  readonly #ticker: string;
  readonly #offset: number;
  readonly #table: SplitTable;
  readonly #names = new Set<string>();
  readonly #columns: string[] = [];
  readonly #empty = new Set<string>();
  #n = 0;
  #dates: OwnDates | undefined;

  constructor(reading: Reading, ticker: string, offset: number) {
    this.#reading = reading;
    this.#ticker = ticker;
    this.#offset = offset;
    this.#table = new SplitTable(reading, offset, ticker);
    reading.buffer.clear();
  }

  *read(firstName: string, firstOffset: number, container: TickerContainer): Steps<void> {
    const { json } = this.#reading;
    let name = firstName;
    let offset = firstOffset;
    let token: Token = Token.arrayStart;
    for (;;) {
      if (this.#names.has(name)) throw invalid(this.#positionOf(offset, name), "comes twice");
      checkColumnCount(this.#reading, this.#names.size, offset, this.#ticker);
      this.#names.add(name);
      if (token === Token.arrayStart) yield* this.#readArray(name, offset);
      else yield* this.#readOther(name, token);
      token = yield* json.take();
      if (token === Token.objectEnd) break;
      name = json.text;
      offset = json.offset;
      token = yield* json.take();
    }
    yield* this.#finish(container);
  }

  *#readArray(name: string, offset: number): Steps<void> {
    const { json, kind, roles } = this.#reading;
    const { role, rank } = roles.of(name);
    if (role === "date")
      yield* this.#readDates({ name, rank, list: new DateList(this.#reading, name, this.#ticker) });
    else if (role === "ticker") yield* this.#readTickers(name);
    else if (kind === "features" || role === "price" || SPLIT_KEYS.includes(name))
      yield* this.#readValues(name, offset);
    else yield* json.skip(json.depth - 1);
  }

  /** Reads a value that is not an array: skipped in a price blob, a fault in a feature blob, where every key is a feature. */
  *#readOther(name: string, token: Token): Steps<void> {
    const { json, kind, roles } = this.#reading;
    const { role } = roles.of(name);
    if (role === "ticker" && token === Token.string && json.text === this.#ticker) return;
    if (kind === "features" || role === "price" || role === "ticker") {
      throw invalid(this.#positionOf(json.offset, name), `is ${nameOf(token)}; an array is expected`);
    }
    const isOpen = token === Token.objectStart;
    yield* json.skip(json.depth - (isOpen ? 1 : 0));
  }

  *#readDates(dates: OwnDates): Steps<void> {
    const { json, kind } = this.#reading;
    const other = this.#dates;
    if (other !== undefined && (kind === "features" || other.rank === dates.rank)) {
      const what = `has two arrays of dates, ${quote(other.name)} and ${quote(dates.name)}`;
      throw invalid(positionOf(this.#reading, json.offset, this.#ticker), what);
    }
    yield* dates.list.read();
    if (other === undefined || dates.rank < other.rank) this.#dates = dates;
  }

  *#readTickers(name: string): Steps<void> {
    const { json } = this.#reading;
    for (let token = yield* json.take(); token !== Token.arrayEnd; token = yield* json.take()) {
      if (token === Token.string && json.text === this.#ticker) continue;
      throw invalid(this.#positionOf(json.offset, name), "names another ticker");
    }
  }

  *#readValues(name: string, offset: number): Steps<void> {
    const { json, buffer } = this.#reading;
    const start = buffer.length;
    for (;;) {
      let token = json.numbers(buffer);
      if (token === Token.arrayEnd) break;
      if (token === Token.more) {
        checkValueCount(this.#reading, buffer.length, offset, this.#ticker);
        yield;
        continue;
      }
      token = yield* json.take();
      const index = buffer.length - start;
      if (index === 0 && (yield* this.#readSplitPart(name, token))) return;
      throw invalid(
        this.#positionOf(json.offset, name, index),
        `is ${nameOf(token)}; a number or null is expected`,
      );
    }
    if (buffer.length === start && SPLIT_KEYS.includes(name)) this.#empty.add(name);
    else this.#addColumn(name, offset, start);
  }

  /** If the first element belongs to a part of a split table, reads the array to its end as that part. */
  *#readSplitPart(name: string, first: Token): Steps<boolean> {
    const { json } = this.#reading;
    const isPart =
      (name === "columns" && first === Token.string) ||
      (name === "index" && first === Token.string) ||
      (name === "data" && first === Token.arrayStart);
    if (!isPart) return false;
    json.unread(first);
    if (name === "columns") yield* this.#table.readHeaders();
    else if (name === "data") yield* this.#table.readRows();
    else {
      this.#table.index = new DateList(this.#reading, name, this.#ticker);
      yield* this.#table.index.read();
    }
    return true;
  }

  #addColumn(name: string, offset: number, start: number): void {
    const { kind, buffer, roles } = this.#reading;
    const length = buffer.length - start;
    if (name === "index") {
      // Numbers are either the epoch dates of a split table, or a column of this name.
      this.#table.index = new DateList(this.#reading, name, this.#ticker);
      for (const time of buffer.values.subarray(start, buffer.length))
        this.#table.index.addNumber(time, offset);
    }
    if (kind === "prices" && roles.of(name).role !== "price") {
      buffer.length = start;
      return;
    }
    if (this.#columns.length === 0) this.#n = length;
    else if (length !== this.#n) {
      const first = quote(this.#columns[0]!);
      throw invalid(
        this.#positionOf(offset, name),
        `has ${counted(length, "value")}; ${first} has ${this.#n}`,
      );
    }
    this.#columns.push(this.#reading.names.column(name, positionOf(this.#reading, offset)));
  }

  *#finish(container: TickerContainer): Steps<void> {
    if (this.#table.isBegun || SPLIT_KEYS.every((name) => this.#names.has(name))) yield this.#finishTable();
    else {
      for (const name of this.#empty) this.#addColumn(name, this.#offset, this.#reading.buffer.length);
      const found = { ticker: this.#ticker, offset: this.#offset, columns: this.#columns, n: this.#n };
      if (this.#dates === undefined) yield* container.addShared(found);
      else yield this.#finishDated(this.#dates.list);
    }
  }

  #finishTable() {
    if (this.#empty.has("columns")) this.#table.setNoHeaders();
    if (this.#empty.has("data")) this.#table.setNoRows();
    if (this.#empty.has("index")) this.#table.index = new DateList(this.#reading, "index", this.#ticker);
    const beside = this.#columns.find((name) => name !== "index");
    if (beside === undefined) return this.#table.finish(this.#ticker);
    throw invalid(
      this.#positionOf(this.#offset, beside),
      "is next to the columns, index and data of a split table",
    );
  }

  #finishDated(dates: DateList) {
    const { buffer } = this.#reading;
    const ticker = this.#ticker;
    const calendar = dates.calendar();
    const n = calendar.days.length;
    if (this.#columns.length > 0 && n !== this.#n) {
      const what = `has columns of length ${this.#n}; it has ${counted(n, "date")}`;
      throw invalid(positionOf(this.#reading, this.#offset, ticker), what);
    }
    claimTicker(this.#reading, { ticker, offset: this.#offset, columns: this.#columns, n });
    const values = buffer.copy();
    calendar.arrange(values);
    return { ticker, days: calendar.days, columns: this.#columns, values };
  }

  #positionOf(offset: number, ...keys: (string | number)[]): Position {
    return positionOf(this.#reading, offset, this.#ticker, pathOf(this.#ticker, ...keys));
  }
}
