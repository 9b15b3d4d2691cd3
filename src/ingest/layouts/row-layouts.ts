import { type Day, formatDay } from "../../contract/market/dates.ts";
import { invalid } from "../blob-errors.ts";
import { whyNoDate } from "../dates/date-text.ts";
import { Token } from "../json/json-reader.ts";
import {
  claimTicker,
  nameOf,
  pathOf,
  positionOf,
  type Reading,
  recordTicker,
  type Steps,
} from "../reading.ts";
import { BlobRecord } from "./records.ts";
import { RowTable } from "./row-table.ts";

/** The column of a plain value that replaces a record. */
const BARE_PRICE = "price";

/** The tables of tickers with mixed rows, in the order of the tickers' first rows. */
export class TablesByTicker {
  readonly #reading: Reading;
  readonly #tables = new Map<string, { readonly table: RowTable; readonly offset: number }>();
  /** The number of values read since all tables were last moved to the store. */
  #pending = 0;

  constructor(reading: Reading) {
    this.#reading = reading;
  }

  of(ticker: string, offset: number): RowTable {
    let found = this.#tables.get(ticker);
    if (found === undefined) {
      const kept = recordTicker(this.#reading, this.#tables.size, ticker, offset);
      found = { table: new RowTable(this.#reading), offset };
      this.#tables.set(kept, found);
    }
    return found.table;
  }

  /** Must be called after each row. */
  added(table: RowTable): void {
    this.#pending += table.columns.length + 2;
    if (this.#pending < this.#reading.store.inMemory) return;
    for (const each of this.#tables.values()) each.table.spill();
    this.#pending = 0;
  }

  *finish(): Steps<void> {
    for (const [ticker, { table, offset }] of this.#tables) {
      yield finishTable(this.#reading, ticker, table, offset);
      this.#tables.delete(ticker);
    }
  }
}

function finishTable(reading: Reading, ticker: string, table: RowTable, offset: number) {
  // Without rows the columns are unknown.
  const columns = table.rows === 0 ? [BARE_PRICE] : table.columns;
  claimTicker(reading, { ticker, offset, columns, n: table.rows });
  return table.finish(ticker);
}

export function* readFlatRecords(reading: Reading): Steps<void> {
  const { json } = reading;
  const record = new BlobRecord(reading);
  const tables = new TablesByTicker(reading);
  for (;;) {
    let token = json.next();
    if (token === Token.more) token = yield* json.wait();
    if (token === Token.arrayEnd) break;
    const { offset } = json;
    if (token !== Token.objectStart)
      throw invalid(positionOf(reading, offset), `${nameOf(token)} is among records`);
    yield* record.read();
    record.locate({});
    const table = tables.of(record.ticker, offset);
    record.addTo(table);
    tables.added(table);
  }
  yield* tables.finish();
}

export function* readTickerRecords(reading: Reading, ticker: string, tickerOffset: number): Steps<void> {
  const { json } = reading;
  const record = new BlobRecord(reading);
  const table = new RowTable(reading);
  for (;;) {
    let token = json.next();
    if (token === Token.more) token = yield* json.wait();
    if (token === Token.arrayEnd) break;
    const position = positionOf(reading, json.offset, ticker, pathOf(ticker, table.rows));
    if (token !== Token.objectStart) throw invalid(position, `is ${nameOf(token)}; a record is expected`);
    yield* record.read();
    record.locate({ ticker });
    record.addTo(table);
  }
  yield finishTable(reading, ticker, table, tickerOffset);
}

/** Reads an object of records by date, of one ticker. Its first key has been read, but not the value. */
export function* readByDate(reading: Reading, ticker: string, tickerOffset: number): Steps<void> {
  const { json } = reading;
  const record = new BlobRecord(reading);
  const table = new RowTable(reading);
  for (let token: Token = Token.key; token !== Token.objectEnd; token = yield* json.take()) {
    const { text, day, offset } = json;
    if (Number.isNaN(day)) {
      const position = positionOf(reading, offset, ticker, pathOf(ticker, text));
      token = yield* json.take();
      if (reading.kind === "prices" && token !== Token.objectStart && token !== Token.number) {
        yield* json.skip(json.depth - (token === Token.arrayStart ? 1 : 0));
        continue;
      }
      throw invalid(position, `is among dates, but ${whyNoDate(text)}`);
    }
    yield* readDatedRow(reading, record, { ticker, day }, () => table);
  }
  yield finishTable(reading, ticker, table, tickerOffset);
}

export function* readTickersOfDay(reading: Reading, tables: TablesByTicker, day: Day): Steps<void> {
  const { json } = reading;
  const record = new BlobRecord(reading);
  const tableOf = (ticker: string, offset: number) => tables.of(ticker, offset);
  for (let token = yield* json.take(); token !== Token.objectEnd; token = yield* json.take()) {
    tables.added(yield* readDatedRow(reading, record, { ticker: json.text, day }, tableOf));
  }
}

function* readDatedRow(
  reading: Reading,
  record: BlobRecord,
  where: { readonly ticker: string; readonly day: Day },
  tableOf: (ticker: string, offset: number) => RowTable,
): Steps<RowTable> {
  const { json, kind } = reading;
  let token = json.next();
  if (token === Token.more) token = yield* json.wait();
  const { offset } = json;
  if (token === Token.objectStart) {
    yield* record.read();
    record.locate(where);
    const table = tableOf(where.ticker, offset);
    record.addTo(table);
    return table;
  }
  if (kind === "features" || (token !== Token.number && token !== Token.null)) {
    const expected = kind === "features" ? "an object of columns" : "an object of columns, a number or null";
    const position = positionOf(reading, offset, where.ticker, pathOf(where.ticker, formatDay(where.day)));
    throw invalid(position, `is ${nameOf(token)}; ${expected} is expected`);
  }
  const table = tableOf(where.ticker, offset);
  table.begin(where.day, offset);
  table.put(BARE_PRICE, token === Token.number ? json.number : Number.NaN);
  table.end();
  return table;
}
