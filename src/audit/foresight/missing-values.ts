import { averageRanks } from "../../evaluate/rank.ts";
import { correlation } from "../../evaluate/statistics.ts";
import type { ResolvedWindow } from "../../panel/window.ts";
import { MIN_PAIRS, type RankCorrelation } from "./significance.ts";
import { columnValues, type FeatureColumn, type TickerHistory } from "./ticker-history.ts";

const MIN_MISSING = 5;

/** How the absence of a feature relates to the next return. */
export interface MissingnessTest extends RankCorrelation {
  /** P(a return after a missing value is higher) - P(it is lower), for a missing and a present value drawn at random. */
  readonly effect: number;
  readonly missing: number;
}

/**
 * Spearman's correlation of "the feature is missing here" with the next return, over the price dates from the feature's first value
 * to its last: rows before a window is full do not count. `effect` is the rank-biserial correlation, which unlike c does not shrink
 * with the share of missing values.
 * @returns undefined for fewer than MIN_MISSING missing or present values or MIN_PAIRS labels, and for constant labels.
 */
export function missingnessTest(history: TickerHistory, { x }: FeatureColumn): MissingnessTest | undefined {
  const { labels: y, priceRows } = history;
  const first = x.findIndex(Number.isFinite);
  const last = x.findLastIndex(Number.isFinite);
  if (first < 0) return undefined;
  const missing: number[] = [];
  const after: number[] = [];
  let i = first;
  for (let row = priceRows[first]!; row <= priceRows[last]!; row++) {
    while (priceRows[i]! < row) i++;
    if (!Number.isFinite(y[row]!)) continue;
    missing.push(priceRows[i] === row && Number.isFinite(x[i]!) ? 0 : 1);
    after.push(y[row]!);
  }
  return missingnessOf(Float64Array.from(missing), Float64Array.from(after));
}

function missingnessOf(marks: Float64Array, labels: Float64Array): MissingnessTest | undefined {
  const n = marks.length;
  const missing = marks.reduce((sum, mark) => sum + mark, 0);
  if (n < MIN_PAIRS || missing < MIN_MISSING || n - missing < MIN_MISSING) return undefined;
  const ranks = averageRanks(labels);
  const c = correlation(averageRanks(marks), ranks);
  if (c === null) return undefined;
  const rankSum = ranks.reduce((sum, rank, i) => sum + rank * marks[i]!, 0);
  const effect = (2 * (rankSum / missing - (missing + 1) / 2)) / (n - missing) - 1;
  return { c, n, effect, missing };
}

/** The values of one feature on dates of the window without a price of its ticker. */
export interface UnpricedValues {
  readonly values: number;
  /** Those that only the next value with a price explains: equal to it, or on the straight line to it. */
  readonly fromLater: number;
  /** Those that the value before explains. */
  readonly fromEarlier: number;
}

const TOLERANCE = 1e-9;

/** The rows of a feature blob that lie in the window and have no price, ascending. */
export function unpricedRows(
  { features, featureRows }: TickerHistory,
  { start, end }: Pick<ResolvedWindow, "start" | "end">,
): Int32Array {
  let r = 0;
  return Int32Array.from(features.days.keys()).filter((row) => {
    while (r < featureRows.length && featureRows[r]! < row) r++;
    const day = features.days[row]!;
    return day >= start && day <= end && featureRows[r] !== row;
  });
}

/** Examines the values of one column on the rows without a price. */
export function unpricedValues(history: TickerHistory, column: number, rows: Int32Array): UnpricedValues {
  const x = columnValues(history, column);
  const { featureRows } = history;
  let [values, fromLater, fromEarlier] = [0, 0, 0];
  let after = 0;
  for (const row of rows) {
    while (after < featureRows.length && featureRows[after]! < row) after++;
    if (!Number.isFinite(x[row]!)) continue;
    values++;
    const earlier = featureRows[after - 1];
    const later = featureRows[after];
    if (earlier !== undefined && x[row] === x[earlier]) fromEarlier++;
    else if (later !== undefined && isFilled(history, x, { earlier, row, later })) fromLater++;
  }
  return { values, fromLater, fromEarlier };
}

/**
 * The share of values on dates with a price, except those equal to the previous one, that equal the next value or are on the line to
 * it: nearly 0 for freely moving values; large for weekdays and months, for steps, and for ranks among few tickers, which look filled
 * without being filled.
 */
export function usualShare(history: TickerHistory, column: number): number {
  const x = columnValues(history, column);
  const { featureRows } = history;
  let [fromLater, all] = [0, 0];
  for (let i = 1; i < featureRows.length - 1; i++) {
    const [earlier, row, later] = [featureRows[i - 1]!, featureRows[i]!, featureRows[i + 1]!];
    if (!Number.isFinite(x[row]!) || x[row] === x[earlier]) continue;
    all++;
    if (isFilled(history, x, { earlier, row, later })) fromLater++;
  }
  return all === 0 ? 0 : fromLater / all;
}

interface Neighbours {
  readonly earlier: number | undefined;
  readonly row: number;
  readonly later: number;
}

/** Whether a value equals the later one, or is on the straight line between its neighbours, by rows or by days. */
function isFilled(
  { features: { days } }: TickerHistory,
  x: Float64Array,
  { earlier, row, later }: Neighbours,
): boolean {
  if (x[row] === x[later]) return true;
  if (earlier === undefined || !Number.isFinite(x[earlier]!) || !Number.isFinite(x[later]!)) return false;
  const rise = x[later]! - x[earlier]!;
  const shares = [
    (row - earlier) / (later - earlier),
    (days[row]! - days[earlier]!) / (days[later]! - days[earlier]!),
  ];
  return shares.some((share) => Math.abs(x[row]! - x[earlier]! - share * rise) <= TOLERANCE * Math.abs(rise));
}
