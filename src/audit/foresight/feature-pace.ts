/**
 * The maximum |c| over time of an honest feature; our own choice, about twice the mean daily IC of 0.052 that the best model of
 * Qlib's benchmarks on the CSI 300 reaches with 360 features.
 */
export const FAST_LIMIT = 0.11;

/** The same for a slow feature; our own choice: with this much every day it would have an IC of about 0.2 over a month. */
export const SLOW_LIMIT = 0.06;

/** The maximum IC over the time for which a feature keeps its value; our own choice. */
const STEP_LIMIT = 0.2;

/** A feature is slow from this rank autocorrelation on, SLOW_ROWS rows apart. */
const SLOW = 0.5;
const SLOW_ROWS = 5;

/** A feature moves in steps, like a quarterly figure, if a value stays the same for this many rows on average. */
const STEP_ROWS = 5;

/** How fast a feature changes, over all tickers: a slow feature can tell less about each single date. */
export class FeaturePace {
  /** Sums of u u' SLOW_ROWS rows apart, and of u u. */
  #lagged = 0;
  #squares = 0;
  #rows = 0;
  #moves = 0;

  /** @param x values of one ticker, and @param u their ranks; shape (r) each, NaN if missing. */
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

  /** The maximum |c| of the value of an honest feature. */
  limit(): number {
    const rows = this.#rows / Math.max(1, this.#moves);
    const slow = this.#lagged > SLOW * this.#squares ? SLOW_LIMIT : FAST_LIMIT;
    return rows >= STEP_ROWS ? Math.min(slow, STEP_LIMIT / Math.sqrt(rows)) : slow;
  }
}
