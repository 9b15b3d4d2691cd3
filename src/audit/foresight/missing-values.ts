import { averageRanks } from "../../evaluate/rank.ts";
import { correlation } from "../../evaluate/statistics.ts";
import { MIN_PAIRS, type RankCorrelation } from "./significance.ts";
import type { FeatureColumn, TickerHistory } from "./ticker-history.ts";

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
  const { y, priceRows } = history;
  const first = x.findIndex(Number.isFinite);
  const last = x.findLastIndex(Number.isFinite);
  if (first < 0) return undefined;
  const missing: number[] = [];
  const labels: number[] = [];
  let i = first;
  for (let row = priceRows[first]!; row <= priceRows[last]!; row++) {
    while (priceRows[i]! < row) i++;
    if (!Number.isFinite(y[row]!)) continue;
    missing.push(priceRows[i] === row && Number.isFinite(x[i]!) ? 0 : 1);
    labels.push(y[row]!);
  }
  return missingnessOf(Float64Array.from(missing), Float64Array.from(labels));
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
