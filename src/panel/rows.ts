import { counted } from "../contract/errors/wording.ts";
import { type Day, formatDay } from "../contract/market/dates.ts";
import type { suspiciousPrices } from "../contract/market/suspicious-prices.ts";
import { MAX_GAP_DAYS, type TickerFeatures } from "../contract/market/ticker-series.ts";
import type { Warning } from "../contract/problems/warnings.ts";

/**
 * Joins two ascending lists of days. The features of a day are paired with the price of the same day, without a shift.
 * @returns shape (r) each, ascending: indices into the price dates and into the feature dates.
 */
export function joinRows(priceDays: Int32Array, featureDays: Int32Array) {
  const longest = Math.min(priceDays.length, featureDays.length);
  const [price, feature] = [new Int32Array(longest), new Int32Array(longest)];
  let r = 0;
  for (let p = 0, f = 0; p < priceDays.length && f < featureDays.length; ) {
    const difference = priceDays[p]! - featureDays[f]!;
    if (difference === 0) {
      price[r] = p++;
      feature[r++] = f++;
    } else if (difference < 0) p++;
    else f++;
  }
  return { price: price.slice(0, r), feature: feature.slice(0, r) };
}

/** @returns the column indices, in order, that have a finite value on at least one of the given feature dates. */
export function columnsWithValues({ columns, values, days }: TickerFeatures, dates: Int32Array): number[] {
  const hasValue = (c: number) => dates.some((date) => Number.isFinite(values[c * days.length + date]!));
  return [...columns.keys()].filter(hasValue);
}

/** Which rows have every feature, and why the others do not: on the given feature dates, in the given columns only. */
export function completeRows(
  { values, days }: TickerFeatures,
  columns: readonly number[],
  dates: Int32Array,
) {
  const isPresent = (column: number, date: number) => Number.isFinite(values[column * days.length + date]!);
  const waits = columns.map((column) => {
    const first = dates.findIndex((date) => isPresent(column, date));
    return first < 0 ? dates.length : first;
  });
  const complete: number[] = [];
  const missingByColumn = new Int32Array(columns.length);
  let warmUpRows = 0;
  for (const [r, date] of dates.entries()) {
    const missing: number[] = [];
    for (let c = 0; c < columns.length; c++) if (!isPresent(columns[c]!, date)) missing.push(c);
    if (missing.length === 0) complete.push(r);
    else if (missing.every((c) => r < waits[c]!)) warmUpRows++;
    else for (const c of missing) missingByColumn[c]!++;
  }
  const longest = waits.reduce((a, b) => Math.max(a, b), 0);
  return {
    /** Shape (r): positions of the rows without a missing value. */
    complete: Int32Array.from(complete),
    /** The number of other rows on which every missing feature has been missing since the first row: they only wait for its window. */
    warmUpRows,
    /** The index of the column that waits longest, the first one if equal; undefined if none does. */
    slowest: longest === 0 ? undefined : waits.indexOf(longest),
    /** Shape (columns): the number of rows on which that column is missing, without those that wait for a window. */
    missingByColumn,
  };
}

/** Turns columns into rows. @returns shape (dates, columns), row-major. */
export function gatherRowMajor(
  { values, days }: TickerFeatures,
  columns: readonly number[],
  dates: Int32Array,
): Float64Array {
  const x = new Float64Array(dates.length * columns.length);
  let at = 0;
  for (const date of dates) for (const column of columns) x[at++] = values[column * days.length + date]!;
  return x;
}

/** The order of rows by two dates each, the first before the second; rows with equal dates keep their order. Shape (n) each. */
export function orderByDates(first: Int32Array, second: Int32Array): Int32Array {
  const rows = first.map((_, i) => i);
  return sortByDay(sortByDay(rows, second), first);
}

/** A stable counting sort. @param order shape (n), row numbers; `days` shape (n), by row number. */
function sortByDay(order: Int32Array, days: Int32Array): Int32Array {
  const earliest = days.reduce((a, b) => Math.min(a, b), days[0] ?? 0);
  const latest = days.reduce((a, b) => Math.max(a, b), earliest);
  const next = new Int32Array(latest - earliest + 2);
  for (const day of days) next[day - earliest + 1]!++;
  for (let d = 1; d < next.length; d++) next[d]! += next[d - 1]!;
  const sorted = new Int32Array(order.length);
  for (const row of order) sorted[next[days[row]! - earliest]!++] = row;
  return sorted;
}

export function countBefore(ascending: Int32Array, day: Day): number {
  let [from, to] = [0, ascending.length];
  while (from < to) {
    const middle = (from + to) >> 1;
    if (ascending[middle]! < day) from = middle + 1;
    else to = middle;
  }
  return from;
}

/** The warnings of one ticker's rows, in the order of the steps that caused them, without rows that wait for the window of a feature. */
export function rowWarnings(facts: {
  readonly ticker: string;
  readonly priceDates: number;
  readonly nonpositivePrices: number;
  readonly longGaps: number;
  readonly emptyNames: readonly string[];
  readonly columns: readonly string[];
  /** Rows that lack a feature whose window is full. */
  readonly lacking: number;
  readonly missingByColumn: Int32Array;
  /** The two successive price dates that are furthest apart. */
  readonly largestGap: Int32Array;
  readonly delay: number;
  readonly suspicious: ReturnType<typeof suspiciousPrices>;
}): Warning[] {
  const { ticker, emptyNames, lacking, missingByColumn, largestGap, delay, suspicious } = facts;
  const { longGaps, priceDates } = facts;
  const gapShare = Number(((100 * longGaps) / priceDates).toPrecision(2));
  const [far, after] =
    delay === 0
      ? ["the next price is", "later"]
      : [`one of the next ${delay + 1} prices is`, "after the one before it"];
  const worst = missingByColumn.reduce((best, count, c) => (count > missingByColumn[best]! ? c : best), 0);
  const { count: strange = 0, text } = suspicious ?? {};
  const found: (Pick<Warning, "code" | "message"> & { readonly count: number })[] = [
    { code: "suspicious_price", count: strange, message: `${text}.` },
    {
      code: "long_gap",
      count: longGaps,
      message: `${longGaps} of ${counted(priceDates, "price date")} (${gapShare}%) ${longGaps === 1 ? "has" : "have"} no label, because ${far} more than ${MAX_GAP_DAYS} calendar days ${after}. The largest gap is from ${formatDay(largestGap[0]!)} to ${formatDay(largestGap.at(-1)!)}.`,
    },
    {
      code: "empty_feature",
      count: emptyNames.length,
      message: `features without a finite value on the training dates are left out: ${listNames(emptyNames)}.`,
    },
    {
      code: "missing_features",
      count: lacking,
      message:
        `${lacking === 1 ? "1 row lacks a feature and is" : `${lacking} rows lack a feature and are`} left out; ` +
        `${facts.columns[worst]} is missing most often, on ${counted(missingByColumn[worst] ?? 0, "row")}.`,
    },
  ];
  const warnings = found
    .filter(({ count }) => count > 0)
    .map(({ code, message, count }): Warning => ({ code, message: `${ticker}: ${message}`, ticker, count }));
  return [...nonpositivePrices(ticker, facts.nonpositivePrices), ...warnings];
}

/** The warning of prices that count as missing; none without such prices. */
export function nonpositivePrices(ticker: string, count: number): Warning[] {
  if (count === 0) return [];
  const what =
    count === 1 ? "1 price is zero or negative and counts" : `${count} prices are zero or negative and count`;
  return [{ code: "nonpositive_price", message: `${ticker}: ${what} as missing.`, ticker, count }];
}

const NAMES_SHOWN = 20;

/** Names for a sentence: the first ones, and how many more there are. */
export function listNames(names: readonly string[]): string {
  const listed = names.slice(0, NAMES_SHOWN).join(", ");
  return names.length > NAMES_SHOWN ? `${listed} and ${names.length - NAMES_SHOWN} more` : listed;
}
