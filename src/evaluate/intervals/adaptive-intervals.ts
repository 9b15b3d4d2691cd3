import {
  type Bound,
  type Bounds,
  conformityScore,
  type DatedResiduals,
  type Ends,
  endsAt,
  hasNoEnds,
  type IntervalRows,
  noBounds,
  type Residuals,
} from "./conformal.ts";
import { RunningQuantile } from "./running-quantile.ts";

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
  const n = rows.days.length;
  const m = residuals.realised.length;
  const bounds = noBounds(n);
  const tracker = new IntervalTracker(meanAbsolute(residuals, m), alpha, bound);
  if (m === 0) return { ...bounds, ...tracker.identity() };
  for (let i = 0; i < m; i++) {
    tracker.learn(residuals.realised[i]!, residuals.predicted[i]!, tracker.scale());
  }
  const scales = new Float64Array(n);
  let waiting = 0;
  for (let i = 0; i < n; i++) {
    for (; waiting < i; waiting++) {
      const y = rows.realised[waiting]!;
      if (Number.isNaN(y)) continue;
      if (rows.labelDays[waiting]! > rows.days[i]!) break;
      tracker.learn(y, rows.predicted[waiting]!, scales[waiting]!, endsOf(bounds, waiting));
    }
    scales[i] = tracker.scale();
    setEnds(bounds, i, tracker.issue(rows.predicted[i]!));
  }
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
  const { realised, predicted, days, labelDays } = residuals;
  const m = realised.length;
  if (m < MIN_PREQUENTIAL_ROWS) return undefined;
  const tracker = new IntervalTracker(meanAbsolute(residuals, WARM_UP_ROWS), alpha, bound);
  const bounds = noBounds(m);
  const scales = new Float64Array(m);
  let waiting = 0;
  for (let i = 0; i < m; i++) {
    for (; waiting < i && labelDays[waiting]! <= days[i]!; waiting++) {
      tracker.learn(realised[waiting]!, predicted[waiting]!, scales[waiting]!, endsOf(bounds, waiting));
    }
    scales[i] = tracker.scale();
    if (waiting >= WARM_UP_ROWS) setEnds(bounds, i, tracker.issue(predicted[i]!));
  }
  return bounds;
}

function endsOf(bounds: Bounds, row: number): Ends | undefined {
  return hasNoEnds(bounds, row) ? undefined : { lower: bounds.lower[row]!, upper: bounds.upper[row]! };
}

function setEnds({ lower, upper }: Bounds, row: number, ends: Ends | undefined): void {
  if (ends === undefined) return;
  lower[row] = ends.lower;
  upper[row] = ends.upper;
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
