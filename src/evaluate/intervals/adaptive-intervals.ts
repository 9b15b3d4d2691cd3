import {
  type Bound,
  type Bounds,
  conformalRank,
  conformityScore,
  type DatedResiduals,
  type Ends,
  endsAt,
  hasNoEnds,
  type IntervalRows,
  noBounds,
  type Residuals,
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
  rows: IntervalRows,
  alpha: number,
  bound: Bound,
): AdaptiveIntervals {
  const m = residuals.realised.length;
  const tracker = new IntervalTracker(meanAbsolute(residuals, m), alpha, bound);
  for (let i = 0; i < m; i++) {
    tracker.learn(residuals.realised[i]!, residuals.predicted[i]!, tracker.scale());
  }
  const bounds = m === 0 ? noBounds(rows.days.length) : tracker.follow(rows);
  return { ...bounds, ...tracker.identity() };
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
  private fast: number;
  private slow: number;
  private readonly scores: RunningQuantile;
  private readonly alpha: number;
  private readonly bound: Bound;
  private feedback = 0;
  private clipped = 0;
  private learned = 0;
  private misses = 0;

  /** @param scale the first value of both averages. */
  constructor(scale: number, alpha: number, bound: Bound) {
    this.fast = scale;
    this.slow = scale;
    this.scores = new RunningQuantile(alpha);
    this.alpha = alpha;
    this.bound = bound;
  }

  /** The ends of rows by date, each from the labels known at its close; none before the labels of the first `warmUp` rows are known. */
  follow(rows: Omit<IntervalRows, "volatility">, warmUp = 0): Bounds {
    const { days, labelDays, realised, predicted } = rows;
    const bounds = noBounds(days.length);
    const scales = new Float64Array(days.length);
    let waiting = 0;
    for (let i = 0; i < days.length; i++) {
      for (; waiting < i; waiting++) {
        const y = realised[waiting]!;
        if (Number.isNaN(y)) continue;
        if (labelDays[waiting]! > days[i]!) break;
        const [lower, upper] = [bounds.lower[waiting]!, bounds.upper[waiting]!];
        const ends = hasNoEnds(bounds, waiting) ? undefined : { lower, upper };
        this.learn(y, predicted[waiting]!, scales[waiting]!, ends);
      }
      scales[i] = this.scale();
      const ends = waiting < warmUp ? undefined : this.issue(predicted[i]!);
      if (ends !== undefined) [bounds.lower[i], bounds.upper[i]] = [ends.lower, ends.upper];
    }
    return bounds;
  }

  scale(): number {
    const { slow_share } = ADAPTIVE_CONSTANTS;
    return Math.max((1 - slow_share) * this.fast + slow_share * this.slow, MIN_SCALE);
  }

  /** @returns undefined if the scores support no ends, or one would leave the range of a float64. */
  issue(predicted: number): Ends | undefined {
    const score = this.scores.quantile();
    if (score === undefined) return undefined;
    if (this.bound === "both" && score + this.feedback < 0) {
      this.clipped += -score - this.feedback;
      this.feedback = -score;
    }
    return endsAt(predicted, (score + this.feedback) * this.scale(), this.bound);
  }

  /** Learns the label of a row. @param scale of the row's date. @param ends that were issued for it. */
  learn(realised: number, predicted: number, scale: number, ends?: Ends): void {
    const { fast_decay, slow_decay, feedback } = ADAPTIVE_CONSTANTS;
    const miss = realised - predicted;
    const score = conformityScore(miss, this.bound) / scale;
    this.scores.add(Number.isFinite(score) ? score : Number.POSITIVE_INFINITY);
    this.fast = fast_decay * this.fast + (1 - fast_decay) * Math.abs(miss);
    this.slow = slow_decay * this.slow + (1 - slow_decay) * Math.abs(miss);
    if (ends === undefined) return;
    const missed = realised < ends.lower || realised > ends.upper;
    this.feedback += feedback * ((missed ? 1 : 0) - this.alpha);
    this.learned++;
    if (missed) this.misses++;
  }

  identity(): Omit<AdaptiveIntervals, keyof Bounds> {
    const { learned, misses, feedback, clipped } = this;
    return { learned, misses, feedback, clipped };
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
  private readonly alpha: number;
  /** Ascending. */
  private readonly scores: number[] = [];

  constructor(alpha: number) {
    this.alpha = alpha;
  }

  /** @param score may be +Infinity. */
  add(score: number): void {
    let [low, high] = [0, this.scores.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.scores[middle]! <= score) low = middle + 1;
      else high = middle;
    }
    // Moving numbers costs less than the pointers of a heap, up to tens of thousands of scores.
    this.scores.splice(low, 0, score);
  }

  /** @returns undefined if the scores are too few for a finite interval. */
  quantile(): number | undefined {
    return this.scores[conformalRank(this.scores.length, this.alpha) - 1];
  }
}
