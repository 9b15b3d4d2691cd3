import { formatDay } from "../contract/market/dates.ts";

/** One ticker of a made-up blob. An undefined cell is omitted if the layout allows that. */
export interface WrittenTicker {
  readonly ticker: string;
  readonly columns: readonly string[];
  /** In the order in which they are written. */
  readonly days: readonly number[];
  /** By row, then column: JSON text of the cell. */
  readonly cells: readonly (readonly (string | undefined)[])[];
}

export interface Style {
  readonly dates: "date" | "date-time" | "epoch";
  /** White space after a comma or colon. */
  readonly space: string;
  readonly missing: "null" | "NaN";
}

export type Layout = keyof typeof LAYOUTS;
type Writer = (tickers: readonly WrittenTicker[], style: Style) => string;

/** Writes tickers in each layout of docs/blobs.md, the plain way. In `canonical` and `split-wide` they share their days. */
export const LAYOUTS = {
  canonical: (tickers, style) =>
    object(style, [
      ["dates", datesOf(tickers[0]?.days ?? [], style)],
      ["features", byTicker(columnsOf)(tickers, style)],
    ]),
  "dates-last": (tickers, style) =>
    object(style, [
      ["data", byTicker(columnsOf)(tickers, style)],
      ["dates", datesOf(tickers[0]?.days ?? [], style)],
    ]),
  flat: (tickers, style) => {
    const longest = Math.max(0, ...tickers.map(({ days }) => days.length));
    const rows = Array.from({ length: longest }, (_, row) =>
      tickers.filter(({ days }) => row < days.length).map((each) => record(each, row, style, true)),
    );
    return list(style, rows.flat());
  },
  "records-by-ticker": byTicker((each, style) => {
    const rows = each.days.map((_, row) => record(each, row, style));
    return list(style, rows);
  }),
  "by-date": byTicker((each, style) => {
    const rows = each.days.map((day, row) => [dateKey(day, style), object(style, pairs(each, row))] as const);
    return object(style, rows);
  }),
  "date-first": (tickers, style) => {
    const days = [...new Set(tickers.flatMap((each) => each.days))];
    return object(
      style,
      days.map((day) => {
        const there = tickers.filter((each) => each.days.includes(day));
        const row = (each: WrittenTicker) => object(style, pairs(each, each.days.indexOf(day)));
        return [dateKey(day, style), byTicker(row)(there, style)];
      }),
    );
  },
  "by-column": byTicker((each, style) => {
    const columns = each.columns.map((name, j) => [name, object(style, cellsOf(each, j, style))] as const);
    return object(style, columns);
  }),
  split: byTicker((each, style, i) => object(style, rotated(splitParts(each, style), i))),
  "own-dates": byTicker((each, style, i) => tickerDates(each, style, i % 2 === 0)),
} satisfies Record<string, Writer>;

export function object(style: Style, members: readonly (readonly [string, string])[]): string {
  return `{${members.map(([key, value]) => `${JSON.stringify(key)}:${style.space}${value}`).join(`,${style.space}`)}}`;
}

function byTicker(textOf: (each: WrittenTicker, style: Style, i: number) => string): Writer {
  return (tickers, style) => {
    const members = tickers.map((each, i) => [each.ticker, textOf(each, style, i)] as const);
    return object(style, members);
  };
}

export function list(style: Style, items: readonly string[]): string {
  return `[${items.join(`,${style.space}`)}]`;
}

function dateText(day: number, { dates }: Style): string {
  if (dates === "epoch") return String(day * 86_400_000);
  return JSON.stringify(dates === "date" ? formatDay(day) : `${formatDay(day)}T00:00:00.000+09:00`);
}

function dateKey(day: number, style: Style): string {
  return dateText(day, style).replaceAll('"', "");
}

function datesOf(days: readonly number[], style: Style): string {
  return list(
    style,
    days.map((day) => dateText(day, style)),
  );
}

/** The cells of a row that exist. */
function pairs(each: WrittenTicker, row: number): [string, string][] {
  return each.columns.flatMap((name, j) => {
    const cell = each.cells[row]![j];
    return cell === undefined ? [] : [[name, cell] as [string, string]];
  });
}

function record(each: WrittenTicker, row: number, style: Style, withTicker = false): string {
  const date: [string, string] = [row % 2 === 0 ? "date" : "Date", dateText(each.days[row]!, style)];
  const ticker: [string, string][] = withTicker ? [["Ticker", JSON.stringify(each.ticker)]] : [];
  return object(
    style,
    row % 3 === 0 ? [...pairs(each, row), ...ticker, date] : [date, ...ticker, ...pairs(each, row)],
  );
}

function column(each: WrittenTicker, j: number, style: Style): string {
  return list(
    style,
    each.cells.map((row) => row[j] ?? style.missing),
  );
}

function columnsOf(each: WrittenTicker, style: Style): string {
  return object(
    style,
    each.columns.map((name, j) => [name, column(each, j, style)]),
  );
}

function cellsOf(each: WrittenTicker, j: number, style: Style): [string, string][] {
  return each.days.flatMap((day, row) => {
    const cell = each.cells[row]![j];
    return cell === undefined ? [] : [[dateKey(day, style), cell] as [string, string]];
  });
}

function splitParts(each: WrittenTicker, style: Style): [string, string][] {
  const names = each.columns.map((name) => JSON.stringify(name));
  const rows = each.cells.map((row) => row.map((cell) => cell ?? style.missing));
  return [
    ["columns", list(style, names)],
    ["index", datesOf(each.days, style)],
    [
      "data",
      list(
        style,
        rows.map((row) => list(style, row)),
      ),
    ],
  ];
}

function tickerDates(each: WrittenTicker, style: Style, isFirst: boolean): string {
  const columns = each.columns.map((name, j): [string, string] => [name, column(each, j, style)]);
  const dates: [string, string] = [isFirst ? "dates" : "Date", datesOf(each.days, style)];
  return object(style, isFirst ? [dates, ...columns] : [...columns, dates]);
}

function rotated<T>(items: readonly T[], by: number): T[] {
  const at = by % items.length;
  return [...items.slice(at), ...items.slice(0, at)];
}
