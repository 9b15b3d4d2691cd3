/** Forecasts of a network that learned from fewer samples are noise. The same as the fit rows that a ticker needs. */
export const MIN_TRAINING_SAMPLES = 30;

/** The number of samples in each part; in time they follow one another in this order. */
interface SplitSizes {
  /** The weights are learned from these. */
  readonly train: number;
  /** Early stopping monitors the loss on these. */
  readonly validate: number;
  /** Used neither for training nor for early stopping: their residuals make the intervals. 0 without intervals. */
  readonly calibrate: number;
}

/**
 * Splits n samples by time: 80 / 20, or 70 / 15 / 15 if intervals need their own part. Parts are rounded down, to no less than 1, and the
 * training part gets the rest, which may be too few, or none.
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
 * Whether labels leave a network nothing to learn: all are equal up to rounding, for example if a price grows by the same rate every day.
 * Targets are divided by their standard deviation, which would then be only rounding.
 * @param labels shape (n), finite, n >= 1.
 */
export function isConstantTarget(labels: Float64Array): boolean {
  const least = labels.reduce((a, b) => Math.min(a, b));
  const most = labels.reduce((a, b) => Math.max(a, b));
  return most - least <= ROUNDING;
}
