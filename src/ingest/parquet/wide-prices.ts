import type { BlockSpan } from "../block-store.ts";
import { Calendar } from "../dates/calendar.ts";
import { Doubles } from "../json/doubles.ts";
import { checkValueCount, claimTicker, positionOf, type Reading, type Steps } from "../reading.ts";
import type { ColumnReader } from "./column-reader.ts";
import type { Footer } from "./footer.ts";

const COLUMNS = ["price"];

/** Reads a table of prices with a column per ticker. Yields undefined after each column of a row group, and the tickers at the end. */
export function* readWidePrices(
  reading: Reading,
  footer: Footer,
  reader: ColumnReader,
  date: number,
  values: readonly number[],
  tickers: readonly string[],
): Steps<void> {
  const { columns, groups } = footer;
  const { store } = reading;
  checkValueCount(reading, footer.rows, 0);
  const days = new Doubles();
  const offset = groups === 0 ? 0 : footer.group(0).chunks[date]!.start;
  const spans: (readonly BlockSpan[])[] = [];
  for (let g = 0; g < groups; g++) {
    const group = footer.group(g);
    const of = (index: number) => ({ column: columns[index]!, index, group, before: days.length });
    const found = reader.days(of(date));
    yield;
    const prices = new Float64Array(group.rows);
    const stored: BlockSpan[] = [];
    for (const index of values) {
      reader.numbers(of(index), undefined, prices);
      stored.push(store.append(prices));
      yield;
    }
    spans.push(stored);
    for (const day of found) days.push(day);
  }
  const n = days.length;
  const calendar = new Calendar(days.view(), () =>
    positionOf(reading, offset, undefined, columns[date]!.name),
  );
  for (const [j, ticker] of tickers.entries()) {
    claimTicker(reading, { ticker, offset: 0, columns: COLUMNS, n });
    const prices = new Float64Array(n);
    let at = 0;
    for (const stored of spans) {
      const span = stored[j]!;
      store.read(span, 0, prices.subarray(at, at + span.length));
      at += span.length;
    }
    calendar.arrange(prices);
    yield { ticker, columns: COLUMNS, days: calendar.days, values: prices };
  }
}
