import { MucastError } from "../../contract/errors/errors.ts";
import { show } from "../../contract/errors/faults.ts";
import { counted } from "../../contract/errors/wording.ts";
import { formatDay } from "../../contract/market/dates.ts";
import type { TickerFeatures, TickerPrices, TickerSeries } from "../../contract/market/ticker-series.ts";
import type { FeatureTable } from "../feature-file.ts";

/**
 * The features of each ticker on `dates`: the computed ones, then those of the table. A value belongs to the ticker and date of its row and
 * to no other, so a date without a row has missing values.
 * @param computed of each of `tickers`, in their order; undefined if only the table's are wanted.
 */
export function* joinedFeatures(
  computed: Iterable<TickerFeatures> | undefined,
  { columns, tickers: rows }: FeatureTable,
  tickers: readonly TickerPrices[],
  dates: Int32Array,
): Generator<TickerFeatures> {
  const own = computed?.[Symbol.iterator]();
  for (const { ticker } of tickers) {
    const first = own?.next().value as TickerFeatures | undefined;
    const before = first?.columns ?? [];
    const values = new Float64Array((before.length + columns.length) * dates.length).fill(Number.NaN);
    if (first !== undefined) place(first, dates, values);
    const found = rows.get(ticker);
    if (found !== undefined) place(found, dates, values.subarray(before.length * dates.length));
    yield { ticker, days: dates, columns: [...before, ...columns], values };
  }
}

/** Copies the values on `dates`. @param into shape (columns, dates). */
function place({ days, columns, values }: TickerSeries, dates: Int32Array, into: Float64Array): void {
  let row = 0;
  for (const [i, date] of dates.entries()) {
    while (row < days.length && days[row]! < date) row++;
    if (days[row] !== date) continue;
    for (let c = 0; c < columns.length; c++) into[c * dates.length + i] = values[c * days.length + row]!;
  }
}

/**
 * Finds the tickers that only the table or only the prices have, rows on dates of the window without a price, and features without a value.
 * @param isAll whether all tickers with prices are prepared, so that another ticker of the table has none.
 */
export function unusedParts(
  { path, columns, tickers: rows }: FeatureTable,
  tickers: readonly TickerPrices[],
  dates: Int32Array,
  isAll: boolean,
) {
  const fault = (what: string) => new MucastError("invalid_data", `${path}: ${what}`, { source: path });
  const chosen = new Set(tickers.map(({ ticker }) => ticker));
  const shared = [...rows.values()].filter(({ ticker }) => chosen.has(ticker));
  if (shared.length === 0) {
    const [theirs, priced] = [show(rows.keys().next().value), show(tickers[0]!.ticker)];
    throw fault(
      `no ticker of the table has a price: its first is ${theirs}, the first with prices ${priced}`,
    );
  }
  const { used, unused, firstUnused, kept } = countRows(shared, dates);
  if (used === 0) {
    const [first, last] = [formatDay(dates[0]!), formatDay(dates.at(-1)!)];
    throw fault(`no row of the table is on a price date from ${first} to ${last}`);
  }
  const unpriced = isAll ? [...rows.keys()].filter((ticker) => !chosen.has(ticker)) : [];
  const rowless = tickers.filter(({ ticker }) => !rows.has(ticker));
  const [are, them] = unused === 1 ? ["is on a date", "it is"] : ["are on dates", "they are"];
  const outcome =
    kept.length > dates.length ? "features may be dated a day early or late" : `${them} left out`;
  return {
    dates: kept,
    tickers: [
      ...unpriced.map((ticker) => `${ticker} of ${path} has no price and is left out`),
      ...rowless.map(({ ticker }) => `${ticker} has no row in ${path}; its features of that file are null`),
    ],
    rows:
      unused === 0
        ? []
        : [
            `${counted(unused, "row")} of ${path} ${are} without a price, such as ${formatDay(firstUnused)}; ${outcome}`,
          ],
    features: columns.flatMap((name, c) =>
      shared.some((series) => hasValue(series, c))
        ? []
        : [`the feature ${show(name)} of ${path} has no value`],
    ),
  };
}

function hasValue({ days, values }: TickerSeries, column: number): boolean {
  const own = values.subarray(column * days.length, (column + 1) * days.length);
  return own.some((value) => !Number.isNaN(value));
}

/**
 * Rows on one of `dates`, and rows on other days between the first and the last of them. The latter are kept where they are more than a
 * tenth of a ticker's rows, because the verdict of a job says so.
 */
function countRows(shared: readonly TickerSeries[], dates: Int32Array) {
  const priced = new Set(dates);
  const kept = new Set(dates);
  let [used, unused, firstUnused] = [0, 0, dates.at(-1)!];
  for (const { days } of shared) {
    const on = days.filter((day) => priced.has(day));
    const off = days.filter((day) => !priced.has(day) && day > dates[0]! && day < dates.at(-1)!);
    used += on.length;
    unused += off.length;
    firstUnused = Math.min(firstUnused, off[0] ?? firstUnused);
    if (off.length > (on.length + off.length) / 10) for (const day of off) kept.add(day);
  }
  return { used, unused, firstUnused, kept: Int32Array.from(kept).sort() };
}
