import { counted } from "../contract/errors/wording.ts";
import { type Day, formatDay } from "../contract/market/dates.ts";
import type { suspiciousPrices } from "../contract/market/suspicious-prices.ts";
import { MAX_GAP_DAYS } from "../contract/market/ticker-series.ts";
import type { Warning } from "../contract/problems/warnings.ts";

/** Rows of one ticker: the dates that have both a price and features. */
interface JoinedRows {
  /** Shape (r), ascending: index into the price dates. */
  readonly price: Int32Array;
  /** Shape (r), ascending: index into the feature dates. */
  readonly feature: Int32Array;
}

/** A ticker's features, shape (k, n): column after column, as they are read. */
interface FeatureColumns {
  readonly columns: readonly string[];
  readonly values: Float64Array;
  readonly n: number;
}

/** Joins two ascending lists of days. The features of a day are paired with the price of the same day, without a shift. */
export function joinRows(priceDays: Int32Array, featureDays: Int32Array): JoinedRows {
  const longest = Math.min(priceDays.length, featureDays.length);
  const price = new Int32Array(longest);
  const feature = new Int32Array(longest);
  let r = 0;
  for (let p = 0, f = 0; p < priceDays.length && f < featureDays.length; ) {
    const difference = priceDays[p]! - featureDays[f]!;
    if (difference === 0) {
      price[r] = p++;
      feature[r] = f++;
      r++;
    } else if (difference < 0) p++;
    else f++;
  }
  return { price: price.slice(0, r), feature: feature.slice(0, r) };
}

/** @returns the column indices, in order, that have a finite value on at least one of the given feature dates. */
export function columnsWithValues(features: FeatureColumns, dates: Int32Array): number[] {
  const kept: number[] = [];
  for (let c = 0; c < features.columns.length; c++) {
    const base = c * features.n;
    if (dates.some((date) => Number.isFinite(features.values[base + date]!))) kept.push(c);
  }
  return kept;
}

/** Which rows have every feature, and why the others do not. */
interface Completeness {
  /** Shape (r): positions of the rows without a missing value. */
  readonly complete: Int32Array;
  /**
   * The number of other rows that only wait for the window of a feature: every feature that is missing there has been missing since the
   * first row.
   */
  readonly warmUpRows: number;
  /** The index of the column that is missing on most of the first rows, the first one if equal; undefined if there is none. */
  readonly slowest: number | undefined;
  /** Shape (columns): the number of rows on which that column is missing, without those that wait for a window. */
  readonly missingByColumn: Int32Array;
}

/** Looks for missing values on the given feature dates, in the given columns only. */
export function completeRows(
  features: FeatureColumns,
  columns: readonly number[],
  dates: Int32Array,
): Completeness {
  const { values, n } = features;
  const broken = new Uint8Array(dates.length);
  /** 1 if a feature is missing that had a value before. */
  const torn = new Uint8Array(dates.length);
  const leading = new Int32Array(columns.length);
  const missingLater = new Int32Array(columns.length);
  for (let c = 0; c < columns.length; c++) {
    const base = columns[c]! * n;
    let r = 0;
    for (; r < dates.length && !isPresent(values[base + dates[r]!]!); r++) broken[r] = 1;
    leading[c] = r;
    for (; r < dates.length; r++) {
      if (isPresent(values[base + dates[r]!]!)) continue;
      broken[r] = torn[r] = 1;
      missingLater[c]!++;
    }
  }
  const tornBefore = runningCount(torn);
  const complete = new Int32Array(dates.length);
  let kept = 0;
  for (let r = 0; r < dates.length; r++) if (broken[r] === 0) complete[kept++] = r;
  const most = leading.reduce((a, b) => Math.max(a, b), 0);
  return {
    complete: complete.slice(0, kept),
    warmUpRows: dates.length - kept - tornBefore[dates.length]!,
    slowest: most === 0 ? undefined : leading.indexOf(most),
    missingByColumn: missingLater.map((later, c) => later + tornBefore[leading[c]!]!),
  };
}

/** NaN and both infinities, and nothing else, differ from themselves when subtracted. */
function isPresent(value: number): boolean {
  return value - value === 0;
}

/** Shape (n + 1): how many of the first 0, 1, … marks are set. */
function runningCount(marks: Uint8Array): Int32Array {
  const counts = new Int32Array(marks.length + 1);
  for (let i = 0; i < marks.length; i++) counts[i + 1] = counts[i]! + marks[i]!;
  return counts;
}

/** Rows of a block are written together, so that the block stays in the processor's cache for every column. */
const BLOCK_ROWS = 64;

/**
 * Turns columns into rows.
 * @returns shape (dates, columns), row-major: the value of column c on date i is `x[i * columns.length + c]`.
 */
export function gatherRowMajor(
  features: FeatureColumns,
  columns: readonly number[],
  dates: Int32Array,
): Float64Array {
  const { values, n } = features;
  const k = columns.length;
  const x = new Float64Array(dates.length * k);
  for (let from = 0; from < dates.length; from += BLOCK_ROWS) {
    const to = Math.min(from + BLOCK_ROWS, dates.length);
    for (let c = 0; c < k; c++) {
      const base = columns[c]! * n;
      for (let i = from, at = from * k + c; i < to; i++, at += k) x[at] = values[base + dates[i]!]!;
    }
  }
  return x;
}

/**
 * The order of rows of several tickers by two dates each, the first before the second; rows with equal dates keep their order. Both dates of
 * a row fit into one number, because no row's second date is far from its first: it sorts numbers (day * spans + span) * n + row. They are
 * exact for up to 180 million rows in any four-digit year if dates are at most 10 days apart, and for 36 million with 60 days.
 * @param first shape (n); `second` likewise, at most one day before `first`.
 * @returns shape (n): numbers of rows.
 */
export function orderByDates(first: ArrayLike<Day>, second: ArrayLike<Day>): Float64Array {
  const n = first.length;
  let widest = 0;
  for (let i = 0; i < n; i++) widest = Math.max(widest, second[i]! - first[i]!);
  // One more than the spans 0 to `widest`, for a span of -1.
  const spans = widest + 2;
  // A loop, because `from` first creates a list of as many objects.
  const keys = new Float64Array(n);
  for (let i = 0; i < n; i++) keys[i] = (first[i]! * spans + (second[i]! - first[i]!)) * n + i;
  keys.sort();
  for (let i = 0; i < n; i++) keys[i]! -= Math.floor(keys[i]! / n) * n;
  return keys;
}

/** The values at these positions, in that order. @param order shape (n). */
export function valuesAt(values: Int32Array, order: Float64Array): Int32Array {
  const found = new Int32Array(order.length);
  for (let i = 0; i < order.length; i++) found[i] = values[order[i]!]!;
  return found;
}

/** The number of ascending days before `day`. */
export function countBefore(ascending: Int32Array, day: Day): number {
  let [from, to] = [0, ascending.length];
  while (from < to) {
    const middle = (from + to) >> 1;
    if (ascending[middle]! < day) from = middle + 1;
    else to = middle;
  }
  return from;
}

/** How many rows each step of building a ticker's panel kept, and what it removed. */
export interface RowCounts {
  /** Dates in the window with a price. */
  readonly priceDates: number;
  /** Prices of zero or below. */
  readonly nonpositivePrices: number;
  /** Price dates without a label because two of the next prices are too far apart. */
  readonly longGaps: number;
  /** Price dates that are also in the feature blob. */
  readonly featureRows: number;
  /** Feature rows whose label is known by the cut. */
  readonly candidates: number;
  /** Features in the blob. */
  readonly features: number;
  /** Features without a value on the candidates. */
  readonly emptyFeatures: number;
  /** Feature rows that were dropped because a kept feature is missing there. */
  readonly rowsWithMissing: number;
  readonly fitRows: number;
  readonly scoreRows: number;
}

/** One sentence that leads from price dates to fit rows. */
export function describeCounts(counts: RowCounts, cut: Day): string {
  const zero =
    counts.nonpositivePrices === 0 ? "" : ` (${counts.nonpositivePrices} without a price above zero)`;
  return (
    `${counted(counts.priceDates, "price date")}${zero}, ${counts.featureRows} of them with a feature row, ` +
    `${counts.candidates} with a label known by ${formatDay(cut)}; ` +
    `${counts.features - counts.emptyFeatures} of ${counted(counts.features, "feature")} have values there, ` +
    `${counted(counts.rowsWithMissing, "row")} ${counts.rowsWithMissing === 1 ? "lacks" : "lack"} at least one`
  );
}

const NAMES_SHOWN = 20;

/**
 * The warnings of one ticker's rows, in the order of the steps that caused them, except those that wait for the window of a feature.
 */
export function rowWarnings(facts: {
  readonly ticker: string;
  readonly counts: RowCounts;
  readonly emptyNames: readonly string[];
  readonly columns: readonly string[];
  readonly warmUpRows: number;
  readonly missingByColumn: Int32Array;
  /** The two successive price dates that are furthest apart. */
  readonly largestGap: Int32Array;
  readonly delay: number;
  readonly suspicious: ReturnType<typeof suspiciousPrices>;
}): Warning[] {
  const { ticker, counts, emptyNames, columns, warmUpRows, missingByColumn, largestGap, delay } = facts;
  const lacking = counts.rowsWithMissing - warmUpRows;
  const warnings = nonpositivePrices(ticker, counts.nonpositivePrices);
  const warn = (code: Warning["code"], count: number, message: string): void => {
    if (count > 0) warnings.push({ code, message, ticker, count });
  };
  const { count = 0, text } = facts.suspicious ?? {};
  warn("suspicious_price", count, `${ticker}: ${text}.`);
  warn(
    "long_gap",
    counts.longGaps,
    `${ticker}: ${counts.longGaps} of ${counted(counts.priceDates, "price date")} (${Number(((100 * counts.longGaps) / counts.priceDates).toPrecision(2))}%) ${counts.longGaps === 1 ? "has" : "have"} no label, because ${delay === 0 ? "the next price is" : `one of the next ${delay + 1} prices is`} more than ${MAX_GAP_DAYS} calendar days ${delay === 0 ? "later" : "after the one before it"}. The largest gap is from ${formatDay(largestGap[0]!)} to ${formatDay(largestGap.at(-1)!)}.`,
  );
  warn(
    "empty_feature",
    emptyNames.length,
    `${ticker}: features without a finite value on the training dates are left out: ${listNames(emptyNames)}.`,
  );
  const worst = missingByColumn.indexOf(missingByColumn.reduce((most, count) => Math.max(most, count), 0));
  warn(
    "missing_features",
    lacking,
    `${ticker}: ${lacking === 1 ? "1 row lacks a feature and is" : `${lacking} rows lack a feature and are`} left out; ` +
      `${columns[worst]} is missing most often, on ${counted(missingByColumn[worst]!, "row")}.`,
  );
  return warnings;
}

/** The warning of prices that count as missing; none without such prices. */
export function nonpositivePrices(ticker: string, count: number): Warning[] {
  const what =
    count === 1 ? "1 price is zero or negative and counts" : `${count} prices are zero or negative and count`;
  return count === 0
    ? []
    : [{ code: "nonpositive_price", message: `${ticker}: ${what} as missing.`, ticker, count }];
}

/** Names for a sentence: the first ones, and how many more there are. */
export function listNames(names: readonly string[]): string {
  const listed = names.slice(0, NAMES_SHOWN).join(", ");
  return names.length > NAMES_SHOWN ? `${listed} and ${names.length - NAMES_SHOWN} more` : listed;
}
