import type { Layout } from "./layout-writers.testing.ts";

/** One ticker as a slow, obvious reader reads it. */
export interface TwinTicker {
  readonly days: Set<number>;
  /** By column, then day. */
  readonly columns: Map<string, Map<number, number>>;
}

export type TwinBlob = Map<string, TwinTicker>;

type Rows = Record<string, unknown>;
type Tables = Record<string, Rows>;

/** Reads a blob of a known layout with JSON.parse and loops. */
export function twinOf(layout: Layout, text: string): TwinBlob {
  const blob: TwinBlob = new Map();
  READERS[layout](JSON.parse(text) as never, blob);
  return blob;
}

const READERS: Record<Layout, (document: never, blob: TwinBlob) => void> = {
  canonical: (
    { dates, features }: { dates: unknown[]; features: Record<string, Record<string, unknown[]>> },
    blob,
  ) => {
    for (const [ticker, columns] of Object.entries(features)) putColumns(blob, ticker, dates, columns);
  },
  "dates-last": (
    { dates, data }: { dates: unknown[]; data: Record<string, Record<string, unknown[]>> },
    blob,
  ) => {
    for (const [ticker, columns] of Object.entries(data)) putColumns(blob, ticker, dates, columns);
  },
  flat: (records: Rows[], blob) => {
    for (const { Ticker, ...row } of records) putRecord(blob, String(Ticker), row);
  },
  "records-by-ticker": (document: Record<string, Rows[]>, blob) => {
    for (const [ticker, records] of Object.entries(document)) {
      tickerOf(blob, ticker);
      for (const row of records) putRecord(blob, ticker, row);
    }
  },
  "by-date": (document: Record<string, Tables>, blob) => {
    for (const [ticker, rows] of Object.entries(document)) {
      tickerOf(blob, ticker);
      for (const [date, row] of Object.entries(rows)) putRow(blob, ticker, date, row);
    }
  },
  "date-first": (document: Record<string, Tables>, blob) => {
    for (const [date, tickers] of Object.entries(document)) {
      for (const [ticker, row] of Object.entries(tickers)) putRow(blob, ticker, date, row);
    }
  },
  "by-column": (document: Record<string, Tables>, blob) => {
    for (const [ticker, columns] of Object.entries(document)) {
      for (const [name, cells] of Object.entries(columns)) {
        putColumn(blob, ticker, name);
        for (const [date, value] of Object.entries(cells)) putRow(blob, ticker, date, { [name]: value });
      }
    }
  },
  split: (document: Record<string, { columns: string[]; index: unknown[]; data: unknown[][] }>, blob) => {
    for (const [ticker, { columns, index, data }] of Object.entries(document)) {
      for (const name of columns) putColumn(blob, ticker, name);
      data.forEach((row, i) => {
        putRow(blob, ticker, index[i], Object.fromEntries(columns.map((name, j) => [name, row[j]])));
      });
    }
  },
  "own-dates": (document: Record<string, Record<string, unknown[]>>, blob) => {
    for (const [ticker, { dates, Date: others, ...columns }] of Object.entries(document)) {
      putColumns(blob, ticker, dates ?? others!, columns);
    }
  },
};

function tickerOf(blob: TwinBlob, ticker: string): TwinTicker {
  const found = blob.get(ticker) ?? { days: new Set(), columns: new Map() };
  blob.set(ticker, found);
  return found;
}

function putColumn(blob: TwinBlob, ticker: string, name: string): Map<number, number> {
  const { columns } = tickerOf(blob, ticker);
  const column = columns.get(name) ?? new Map<number, number>();
  columns.set(name, column);
  return column;
}

function putRow(blob: TwinBlob, ticker: string, date: unknown, row: Rows): void {
  const day = dayOf(date);
  tickerOf(blob, ticker).days.add(day);
  for (const [name, value] of Object.entries(row)) putColumn(blob, ticker, name).set(day, numberOf(value));
}

function putRecord(blob: TwinBlob, ticker: string, record: Rows): void {
  const { date, Date: other, ...row } = record;
  putRow(blob, ticker, date ?? other, row);
}

function putColumns(
  blob: TwinBlob,
  ticker: string,
  dates: unknown[],
  columns: Record<string, unknown[]>,
): void {
  for (const date of dates) tickerOf(blob, ticker).days.add(dayOf(date));
  for (const [name, values] of Object.entries(columns)) {
    const column = putColumn(blob, ticker, name);
    for (const [i, value] of values.entries()) column.set(dayOf(dates[i]), numberOf(value));
  }
}

function numberOf(value: unknown): number {
  if (typeof value !== "number" && value !== null) throw new TypeError(`${String(value)} is no number`);
  return Number.isFinite(value) ? (value as number) : Number.NaN;
}

function dayOf(date: unknown): number {
  const isEpoch = typeof date === "number" || /^-?\d+$/.test(String(date));
  const milliseconds = isEpoch ? Number(date) : Date.parse(`${String(date).slice(0, 10)}T00:00:00Z`);
  if (milliseconds % 86_400_000 !== 0) throw new TypeError(`${String(date)} is no date`);
  return milliseconds / 86_400_000;
}
