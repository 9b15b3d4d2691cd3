import {
  type Bound,
  type Bounds,
  conformalRank,
  conformityScore,
  type DatedResiduals,
  hasNoEnds,
  noBounds,
  type Residuals,
  setEnds,
} from "./conformal.ts";

/** Weights of the recursion. The output records them. */
export const ADAPTIVE_CONSTANTS = {
  /** Weight of the past in the fast average of absolute residuals: half of it is younger than 7 rows. */
  fast_decay: 0.9,
  /** The same of the slow average: half of it is younger than 69 rows. */
  slow_decay: 0.99,
  /** Share of the slow average in the scale. */
  slow_share: 0.3,
  /** What a miss adds to the normalised quantile, before alpha times this is subtracted on every row. */
  feedback: 0.05,
} as const;

/** A constant price has residuals of 0; the scale as a divisor must still give a number. */
const MIN_SCALE = 1e-12;

/** Intervals, and the terms of the identity of their misses. */
interface AdaptiveIntervals extends Bounds {
  /** The number of labels that the recursion learned after it had issued ends for their row, and how many of them lay outside. */
  readonly learned: number;
  readonly misses: number;
  /** The feedback at the end, and the part of it that clipping at an interval of width 0 added. */
  readonly feedback: number;
  readonly clipped: number;
}

/**
 * Intervals that follow a ticker's volatility. The score of a residual is divided by a scale, an average of absolute residuals at two
 * speeds. An interval is the conformal quantile of all scores known so far, moved by a feedback on misses, times the scale of its day. The
 * interval of a row dated d uses only labels that are known at the close of d.
 *
 * For any labels, misses = alpha * learned + (feedback - clipped) / ADAPTIVE_CONSTANTS.feedback. There is no other guarantee. The scale is
 * the exponential average of RiskMetrics (1996), the feedback that of adaptive conformal inference (Gibbs and Candès 2021), taken on the
 * quantile itself (Angelopoulos, Candès and Tibshirani 2023).
 *
 * @param residuals shape (m), of rows before the first of `rows`, by date, labels finite and known by then; for m = 0 no row has ends.
 * @param rows shape (n), by date.
 */
export function adaptiveIntervals(
  residuals: Residuals,
  rows: DatedResiduals,
  alpha: number,
  bound: Bound,
): AdaptiveIntervals {
  const m = residuals.realised.length;
  const tracker = new IntervalTracker(meanAbsolute(residuals, m), alpha, bound);
  for (let i = 0; i < m; i++) {
    tracker.learn(residuals.realised[i]!, residuals.predicted[i]!, tracker.scale());
  }
  const bounds = m === 0 ? noBounds(rows.days.length) : tracker.follow(rows);
  const { learned, misses, feedback, clipped } = tracker;
  return { ...bounds, learned, misses, feedback, clipped };
}

/** The number of rows that give the first scale if the residuals test their own intervals. */
const WARM_UP_ROWS = 20;

/** Fewer residuals say nothing about how often intervals hold. */
const MIN_PREQUENTIAL_ROWS = 40;

/**
 * Intervals of residuals from the residuals before them, which are evidence while no score row has a label. The interval of a row uses only
 * labels that are known at its close. Rows get no ends before the first WARM_UP_ROWS labels are known.
 * @returns undefined for fewer than MIN_PREQUENTIAL_ROWS residuals.
 */
export function prequentialIntervals(
  residuals: DatedResiduals,
  alpha: number,
  bound: Bound,
): Bounds | undefined {
  if (residuals.realised.length < MIN_PREQUENTIAL_ROWS) return undefined;
  const tracker = new IntervalTracker(meanAbsolute(residuals, WARM_UP_ROWS), alpha, bound);
  return tracker.follow(residuals, WARM_UP_ROWS);
}

/** What is known about one ticker's residuals at the close of a date. */
class IntervalTracker {
  feedback = 0;
  clipped = 0;
  learned = 0;
  misses = 0;
  #fast: number;
  #slow: number;
  readonly #scores: RunningQuantile;
  readonly #alpha: number;
  readonly #bound: Bound;

  /** @param scale the first value of both averages. */
  constructor(scale: number, alpha: number, bound: Bound) {
    this.#fast = scale;
    this.#slow = scale;
    this.#scores = new RunningQuantile(alpha);
    this.#alpha = alpha;
    this.#bound = bound;
  }

  /** The ends of rows by date, each from the labels known at its close; none before the labels of the first `warmUp` rows are known. */
  follow({ days, labelDays, realised, predicted }: DatedResiduals, warmUp = 0): Bounds {
    const bounds = noBounds(days.length);
    const scales = new Float64Array(days.length);
    let waiting = 0;
    for (const [i, day] of days.entries()) {
      for (; waiting < i; waiting++) {
        const y = realised[waiting]!;
        if (Number.isNaN(y)) continue;
        if (labelDays[waiting]! > day) break;
        this.learn(y, predicted[waiting]!, scales[waiting]!);
        if (!hasNoEnds(bounds, waiting))
          this.#correct(y < bounds.lower[waiting]! || y > bounds.upper[waiting]!);
      }
      scales[i] = this.scale();
      if (waiting >= warmUp) this.#issue(bounds, i, predicted[i]!);
    }
    return bounds;
  }

  scale(): number {
    const { slow_share } = ADAPTIVE_CONSTANTS;
    return Math.max((1 - slow_share) * this.#fast + slow_share * this.#slow, MIN_SCALE);
  }

  /** Sets the ends of a row, if the scores support any. */
  #issue(bounds: Bounds, row: number, predicted: number): void {
    const score = this.#scores.quantile();
    if (score === undefined) return;
    if (this.#bound === "both" && score + this.feedback < 0) {
      this.clipped += -score - this.feedback;
      this.feedback = -score;
    }
    setEnds(bounds, row, predicted, (score + this.feedback) * this.scale(), this.#bound);
  }

  /** Learns the label of a row. @param scale of the row's date. */
  learn(realised: number, predicted: number, scale: number): void {
    const { fast_decay, slow_decay } = ADAPTIVE_CONSTANTS;
    const miss = realised - predicted;
    const score = conformityScore(miss, this.#bound) / scale;
    this.#scores.add(Number.isFinite(score) ? score : Number.POSITIVE_INFINITY);
    this.#fast = fast_decay * this.#fast + (1 - fast_decay) * Math.abs(miss);
    this.#slow = slow_decay * this.#slow + (1 - slow_decay) * Math.abs(miss);
  }

  /** Moves the feedback by the outcome of a row that had ends. */
  #correct(isMiss: boolean): void {
    this.feedback += ADAPTIVE_CONSTANTS.feedback * (Number(isMiss) - this.#alpha);
    this.learned++;
    if (isMiss) this.misses++;
  }
}

/** Mean of |y - p| over the first `count` rows, 0 for none. */
function meanAbsolute({ realised, predicted }: Residuals, count: number): number {
  let sum = 0;
  for (let i = 0; i < count; i++) sum += Math.abs(realised[i]! - predicted[i]!);
  return count === 0 ? 0 : sum / count;
}

/** The conformal quantile of a growing set of scores. */
export class RunningQuantile {
  readonly #alpha: number;
  /** Ascending. */
  readonly #scores: number[] = [];

  constructor(alpha: number) {
    this.#alpha = alpha;
  }

  /** @param score may be +Infinity. */
  add(score: number): void {
    let [low, high] = [0, this.#scores.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#scores[middle]! <= score) low = middle + 1;
      else high = middle;
    }
    // Moving numbers costs less than the pointers of a heap, up to tens of thousands of scores.
    this.#scores.splice(low, 0, score);
  }

  /** @returns undefined if the scores are too few for a finite interval. */
  quantile(): number | undefined {
    return this.#scores[conformalRank(this.#scores.length, this.#alpha) - 1];
  }
}
