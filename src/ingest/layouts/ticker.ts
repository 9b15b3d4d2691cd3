import { invalid, NOT_A_BLOB } from "../blob-errors.ts";
import { isDateText } from "../dates/date-text.ts";
import { Token } from "../json/json-reader.ts";
import {
  checkValueCount,
  claimTicker,
  nameOf,
  pathOf,
  positionOf,
  type Reading,
  type Steps,
} from "../reading.ts";
import { ArrayColumns } from "./array-columns.ts";
import { CellColumns } from "./cell-columns.ts";
import { readByDate, readTickerRecords } from "./row-layouts.ts";
import type { TickerContainer } from "./ticker-container.ts";

export function* readTicker(
  reading: Reading,
  container: TickerContainer,
  ticker: string,
  offset: number,
): Steps<void> {
  const { json, tickers } = reading;
  if (tickers.has(ticker)) throw invalid(positionOf(reading, offset, ticker), "comes twice");
  const token = yield* json.take();
  if (token === Token.arrayStart) yield* readArray(reading, container, ticker, offset);
  else if (token === Token.objectStart) yield* readObject(reading, container, ticker, offset);
  else throw unknown(reading, ticker, token);
}

function* readArray(
  reading: Reading,
  container: TickerContainer,
  ticker: string,
  offset: number,
): Steps<void> {
  const { json, kind, buffer } = reading;
  buffer.clear();
  for (;;) {
    let token = json.numbers(buffer);
    if (token === Token.arrayEnd) break;
    if (token === Token.more) {
      checkValueCount(reading, buffer.length, offset, ticker);
      yield;
      continue;
    }
    token = yield* json.take();
    if (buffer.length > 0) {
      const position = positionOf(reading, json.offset, ticker, pathOf(ticker, buffer.length));
      throw invalid(position, `is ${nameOf(token)}; a number or null is expected`);
    }
    if (token !== Token.objectStart) throw unknown(reading, ticker, token);
    json.unread(token);
    yield* readTickerRecords(reading, ticker, offset);
    return;
  }
  const n = buffer.length;
  if (kind === "prices") yield* container.addShared({ ticker, offset, columns: ["price"], n });
  else if (n === 0) yield rowless(reading, ticker, offset);
  else
    throw invalid(
      positionOf(reading, offset, ticker),
      "is an array of numbers without the names of its features",
      NOT_A_BLOB,
    );
}

function* readObject(
  reading: Reading,
  container: TickerContainer,
  ticker: string,
  offset: number,
): Steps<void> {
  const { json, kind } = reading;
  let isEmpty = true;
  for (;;) {
    let token = yield* json.take();
    if (token === Token.objectEnd) break;
    isEmpty = false;
    const name = json.text;
    const keyOffset = json.offset;
    const isDate = isDateText(name, json.day);
    token = yield* json.take();
    if (token === Token.arrayStart) {
      yield* new ArrayColumns(reading, ticker, offset).read(name, keyOffset, container);
      return;
    }
    const isPrice = kind === "prices" && (token === Token.number || token === Token.null);
    if (isDate && (token === Token.objectStart || isPrice)) {
      json.unread(token);
      yield* readByDate(reading, ticker, offset);
      return;
    }
    if (token === Token.objectStart) {
      yield* new CellColumns(reading, ticker, offset).read(name, keyOffset);
      return;
    }
    const { role } = reading.roles.of(name);
    const isTickerName = role === "ticker" && token === Token.string && json.text === ticker;
    if ((kind === "features" && !isTickerName) || role === "price")
      throw unknown(reading, ticker, token, name);
  }
  if (!isEmpty) throw unknown(reading, ticker, Token.objectStart);
  yield rowless(reading, ticker, offset);
}

function rowless(reading: Reading, ticker: string, offset: number) {
  claimTicker(reading, { ticker, offset, columns: ["price"], n: 0 });
  return { ticker, columns: [], days: new Int32Array(0), values: new Float64Array(0) };
}

function unknown(reading: Reading, ticker: string, token: Token, name?: string) {
  const path = pathOf(ticker, ...(name === undefined ? [] : [name]));
  return invalid(
    positionOf(reading, reading.json.offset, ticker, path),
    `is ${nameOf(token)}, which is not a known layout of a ticker`,
    NOT_A_BLOB,
  );
}
