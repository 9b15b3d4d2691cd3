import type { Fold } from "./folds.ts";

/** A model with fewer rows per feature fits noise: 38 rows of 26 features once gave a mu of 193 %. */
const MIN_ROWS_PER_FEATURE = 5;

/**
 * Whether a ticker has too few rows for its features: to learn from, or in the folds that a third of its out-of-fold
 * rows come from.
 * @param folds none for networks.
 */
export function hasFewRows(fitRows: number, features: number, folds: readonly Fold[]): boolean {
  const least = MIN_ROWS_PER_FEATURE * features;
  if (fitRows < least) return true;
  const tested = testRows(folds);
  return (
    tested > 0 &&
    3 * testRows(folds.filter(({ trainStart, trainEnd }) => trainEnd - trainStart < least)) >= tested
  );
}

function testRows(folds: readonly Fold[]): number {
  return folds.reduce((sum, { testStart, testEnd }) => sum + testEnd - testStart, 0);
}
