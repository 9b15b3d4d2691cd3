import type { TestedTicker } from "./candidate-losses.ts";

/** Pseudo-random numbers in [-1, 1), the same in every run. */
export function noise(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 31 - 1;
  };
}

const FOLD_ROWS = 5;

/**
 * Tickers with rows on consecutive days, whose labels are known a day later. Candidate c forecasts `skills[c]` times the label, plus noise.
 * Ticker i begins i days later, so that folds of different tickers begin on different days.
 */
export function testedTickers(
  tickers: number,
  rows: number,
  skills: readonly number[],
  seed = 1,
): TestedTicker[] {
  const next = noise(seed);
  return Array.from({ length: tickers }, (_, i) => {
    const realised = Float64Array.from({ length: rows }, () => next());
    return {
      ticker: `T${i}`,
      days: Int32Array.from({ length: rows }, (_, row) => 100 + i + row),
      labelDays: Int32Array.from({ length: rows }, (_, row) => 101 + i + row),
      realised,
      predicted: skills.map((skill) => realised.map((y) => skill * y + 0.2 * next())),
      unit: 0.25 + i / 10,
      folds: Array.from({ length: rows / FOLD_ROWS }, (_, fold) => ({
        from: fold * FOLD_ROWS,
        to: (fold + 1) * FOLD_ROWS,
        first: 100 + i + fold * FOLD_ROWS,
      })),
    };
  });
}
