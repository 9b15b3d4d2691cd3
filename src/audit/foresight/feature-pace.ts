/**
 * |c| that an honest feature may have over time; our own choice, about twice the mean daily IC of 0.052 that the best model of Qlib's
 * benchmarks on the CSI 300 reaches with 360 features.
 */
export const FAST_LIMIT = 0.11;

/** The same of a feature that lasts for days; our own choice: with this much every day it would have an IC of about 0.2 over a month. */
export const SLOW_LIMIT = 0.06;

/** The IC over the time for which a feature keeps its value; our own choice. */
const STEP_LIMIT = 0.2;

/** Rank autocorrelation SLOW_ROWS rows apart from which on a feature lasts. */
const SLOW = 0.5;
const SLOW_ROWS = 5;

/** Rows for which a value stays the same, on average, from which on a feature goes by steps, such as a quarter's figure. */
const STEP_ROWS = 5;

/** How fast a feature changes, over all tickers: what lasts for long is worth less from one date to the next. */
export class FeaturePace {
  /** Sums of u u' SLOW_ROWS rows apart and of u u. */
  #lagged = 0;
  #squares = 0;
  #rows = 0;
  #moves = 0;

  /** @param x values of one ticker, and @param u their ranks; shape (r) each, NaN where there is none. */
  add(x: Float64Array, u: Float64Array): void {
    for (let i = SLOW_ROWS; i < u.length; i++) {
      const [now, before] = [u[i]!, u[i - SLOW_ROWS]!];
      if (Number.isNaN(now) || Number.isNaN(before)) continue;
      this.#lagged += now * before;
      this.#squares += now * now;
    }
    for (let i = 1; i < x.length; i++) {
      if (!Number.isFinite(x[i]!) || !Number.isFinite(x[i - 1]!)) continue;
      this.#rows++;
      if (x[i] !== x[i - 1]) this.#moves++;
    }
  }

  /** The |c| of its value that an honest feature may have. */
  limit(): number {
    const rows = this.#rows / Math.max(1, this.#moves);
    const slow = this.#lagged > SLOW * this.#squares ? SLOW_LIMIT : FAST_LIMIT;
    return rows >= STEP_ROWS ? Math.min(slow, STEP_LIMIT / Math.sqrt(rows)) : slow;
  }
}
