/** The forecasts of a network that learned from fewer samples are noise. As many as a ticker needs fit rows. */
export const MIN_TRAINING_SAMPLES = 30;

/** How many samples each part has; in time they follow one another in this order. */
interface SplitSizes {
  /** The weights are learned from these. */
  readonly train: number;
  /** Early stopping watches the loss on these. */
  readonly validate: number;
  /** Used neither for learning nor for early stopping: the residuals of these make the intervals. 0 without intervals. */
  readonly calibrate: number;
}

/**
 * Splits n samples by time: 80 / 20, or 70 / 15 / 15 if intervals need a part of their own. Parts are rounded
 * down, to no less than 1, and the training part takes the rest, which may then be too few, or none.
 */
export function splitSizes(n: number, calibrates: boolean): SplitSizes {
  const percent = calibrates ? 15 : 20;
  const part = Math.max(1, Math.floor((percent * n) / 100));
  const parts = calibrates ? 2 : 1;
  return { train: Math.max(0, n - parts * part), validate: part, calibrate: calibrates ? part : 0 };
}

/** Log-returns are no more exact than the ratio of two prices, a number around 1. */
const ROUNDING = 10 * Number.EPSILON;

/**
 * Whether labels leave a network nothing to learn: all are equal but for rounding, as where a price grows by the same
 * rate every day. Targets are divided by their standard deviation, which would then be rounding alone.
 * @param labels shape (n), finite, n >= 1.
 */
export function isConstantTarget(labels: Float64Array): boolean {
  const least = labels.reduce((a, b) => Math.min(a, b));
  const most = labels.reduce((a, b) => Math.max(a, b));
  return most - least <= ROUNDING;
}
