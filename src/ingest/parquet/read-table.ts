import type { RequestedWindow } from "../../contract/market/ticker-series.ts";
import { tooLarge } from "../blob-errors.ts";
import type { ByteWindow } from "../json/byte-window.ts";
import type { NamelessFile } from "../nameless-file.ts";
import { positionOf, type Reading, type Steps } from "../reading.ts";
import { ColumnReader } from "./column-reader.ts";
import { MAGIC, readFooter, type StoredFile } from "./footer.ts";
import { LongTable } from "./long-table.ts";
import { timeZones } from "./pandas-index.ts";
import { tableColumns } from "./table-columns.ts";
import { windowOf } from "./table-window.ts";
import { readWidePrices } from "./wide-prices.ts";

/**
 * Values of a table, rows times the columns that are read: 16 GiB in the work folder. Runs let a few bytes represent many values. A table
 * without such columns counts as one column, because its dates are stored too.
 */
const MAX_TABLE_VALUES = 2 ** 31;

export function isParquet({ bytes, position, end }: ByteWindow): boolean {
  return (
    end - position >= MAGIC.length &&
    [...MAGIC].every((letter, i) => bytes[position + i] === letter.charCodeAt(0))
  );
}

/**
 * Reads a blob that is a Parquet table. Its metadata is at its end, so its bytes go to a nameless file first. Yields the tickers, in the
 * order of their first rows, once all rows were read.
 *
 * @returns the window, if the metadata has one.
 */
export function* readTable(window: ByteWindow, reading: Reading): Steps<RequestedWindow> {
  const file = reading.store.newFile();
  try {
    const size = yield* spool(window, file);
    return yield* readStored({ source: reading.source, file, size }, reading);
  } finally {
    file.close();
  }
}

function* spool(window: ByteWindow, file: NamelessFile): Steps<number> {
  for (;;) {
    const { bytes, position, end } = window;
    file.write(bytes.subarray(position, end), window.offset(position));
    window.position = end;
    if (window.finished) return window.offset(end);
    yield;
  }
}

function* readStored(stored: StoredFile, reading: Reading): Steps<RequestedWindow> {
  const footer = readFooter(stored);
  const { date, ticker, values, names } = tableColumns(reading, footer);
  const most = reading.maxTableValues ?? MAX_TABLE_VALUES;
  if (footer.rows * Math.max(1, values.length) > most)
    throw tooLarge(positionOf(reading, 0), `the table has more than ${most} values, columns times rows`);
  const found = windowOf(reading, footer);
  const own = timeZones(footer.metadata);
  const reader = new ColumnReader(stored, (column) => ({ named: reading.zone, own: own.get(column) }));
  if (ticker === undefined) yield* readWidePrices(reading, footer, reader, date, values, names);
  else {
    const kept = names.map((name) => reading.names.column(name, positionOf(reading, 0)));
    yield* new LongTable(reading, footer, reader, kept).read(date, ticker, values);
  }
  return found;
}
