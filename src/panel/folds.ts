import { counted } from "../contract/errors/wording.ts";
import type { Warning } from "../contract/problems/warnings.ts";
import { countBefore } from "./rows.ts";
import { MIN_FIT_ROWS } from "./ticker-panel.ts";

/** One walk-forward fold, as positions in the list of fit rows: trains on [trainStart, trainEnd), tests [testStart, testEnd). */
export interface Fold {
  /** 0 if training uses every row before the test; with a window, it uses only the last of these. */
  readonly trainStart: number;
  readonly trainEnd: number;
  readonly testStart: number;
  readonly testEnd: number;
}

/** The number of folds of `testSize` rows or dates over n of them: the first still trains on MIN_FIT_ROWS whose label is known. */
export function foldCount(n: number, testSize: number, n_splits: number, delay: number): number {
  return Math.max(0, Math.min(n_splits, Math.floor((n - MIN_FIT_ROWS - delay) / testSize)));
}

export interface FoldSettings {
  readonly cv_test_size: number;
  readonly n_splits: number;
  readonly delay: number;
  /** Rows (of one ticker) or label dates (pooled) that a fold trains on at most. */
  readonly window?: number | undefined;
}

/**
 * Walk-forward folds over n fit rows: the last k * cv_test_size rows in k blocks, k = `foldCount`. Without delay and with k = n_splits the same
 * as scikit-learn's `TimeSeriesSplit(n_splits, test_size=cv_test_size)`.
 *
 * Timing: a fold trains on the rows whose label is known at the close of its first test date: all rows before it but at most the last
 * `delay`, because the label of a row is known 1 + delay price dates later.
 *
 * @param fit shape (n) each, ascending: dates of fit rows, and when their labels are known.
 * @returns k folds in time order; none if the history is too short.
 */
export function walkForwardFolds(
  { days, labelDays }: { readonly days: Int32Array; readonly labelDays: Int32Array },
  { cv_test_size, n_splits, delay, window = Number.POSITIVE_INFINITY }: FoldSettings,
): Fold[] {
  const n = days.length;
  const k = foldCount(n, cv_test_size, n_splits, delay);
  return Array.from({ length: k }, (_, j) => {
    const testStart = n - (k - j) * cv_test_size;
    const trainEnd = countBefore(labelDays, days[testStart]! + 1);
    const trainStart = Math.max(0, trainEnd - window);
    return { trainStart, trainEnd, testStart, testEnd: testStart + cv_test_size };
  });
}

/** The `fewer_folds` warning of a ticker that got fewer folds than requested. */
export function fewerFolds(facts: {
  readonly ticker: string;
  readonly fitRows: number;
  readonly testSize: number;
  readonly asked: number;
  readonly got: number;
  /** `pooled` folds are ranges of dates; other folds are ranges of the ticker's rows. */
  readonly fit: "per_ticker" | "pooled";
  /** Whether forecasts are multiplied by factors that the folds determine. */
  readonly shrinks: boolean;
}): Warning | undefined {
  const { ticker, fitRows, testSize, asked, got, fit, shrinks } = facts;
  if (got >= asked) return undefined;
  const zero = shrinks ? "; with shrinkage own its forecasts are 0" : "";
  const without = got === 0 ? `; it has no cross-validation and no interval${zero}` : "";
  const folds =
    fit === "pooled"
      ? `${fitRows} fit rows are tested in ${got} of ${asked} folds of ${counted(testSize, "date")} (a fold needs at least ${MIN_FIT_ROWS} earlier rows of the ticker)`
      : `${fitRows} fit rows are enough for ${got} of ${asked} folds of ${counted(testSize, "row")} (the first trains on at least ${MIN_FIT_ROWS})`;
  return { code: "fewer_folds", ticker, count: got, message: `${ticker}: ${folds}${without}.` };
}

/** A model with fewer rows per feature fits noise: 38 rows of 26 features once gave a mu of 193 %. */
const MIN_ROWS_PER_FEATURE = 5;

/**
 * Whether a ticker has too few rows for its features: in total, or in the folds that make a third of its out-of-fold rows.
 * @param folds none for networks.
 */
export function hasFewRows(fitRows: number, features: number, folds: readonly Fold[]): boolean {
  const least = MIN_ROWS_PER_FEATURE * features;
  let [tested, few] = [0, 0];
  for (const { trainStart, trainEnd, testStart, testEnd } of folds) {
    tested += testEnd - testStart;
    if (trainEnd - trainStart < least) few += testEnd - testStart;
  }
  return fitRows < least || (tested > 0 && 3 * few >= tested);
}
