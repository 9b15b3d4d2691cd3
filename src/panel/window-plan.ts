import { MucastError } from "../contract/errors/errors.ts";
import { counted } from "../contract/errors/wording.ts";
import { type TickerPanel, targetsOf } from "./ticker-panel.ts";

export interface WindowOptions {
  /** Rows of one window, at least 1. */
  readonly lookback: number;
  /** Whether intervals are requested, which need their own part. */
  readonly calibrates: boolean;
}

/**
 * The windows of one ticker. Each entry is the row of the panel on which a window ends, which contains that row and the lookback - 1
 * rows before it, labelled or not, and predicts the label of its last row. Rows ascend, even from part to part.
 */
export interface WindowPlan {
  readonly train: Int32Array;
  readonly validate: Int32Array;
  readonly calibrate: Int32Array;
  /** These may extend back into earlier parts. */
  readonly score: Int32Array;
}

export type WindowRows = Pick<
  TickerPanel,
  "ticker" | "days" | "labelDays" | "y" | "relative" | "fit" | "score"
>;

/** Whether the window of `lookback` rows that ends on a row is complete. */
export function isFull(row: number, lookback: number): boolean {
  return row >= lookback - 1;
}

/**
 * Splits a ticker's fit windows by time and lists its score windows. Rows without a full window belong to no part.
 *
 * Timing: a part has only windows whose label is known at the date of the next part's first one: with a delay, it loses at most that many of
 * its last windows.
 * @throws MucastError `insufficient_history` if fewer than MIN_TRAINING_SAMPLES windows train, `constant_target` if the
 * training labels are all the same. Only this ticker fails.
 */
export function planWindows(panel: WindowRows, { lookback, calibrates }: WindowOptions): WindowPlan {
  const { ticker, days, labelDays } = panel;
  const fit = panel.fit.filter((row) => isFull(row, lookback));
  const sizes = splitSizes(fit.length, calibrates);
  const [validateFrom, calibrateFrom] = [sizes.train, sizes.train + sizes.validate];
  const partOf = (from: number, to: number) => {
    const next = to < fit.length ? days[fit[to]!]! : Number.POSITIVE_INFINITY;
    return fit.subarray(from, to).filter((row) => labelDays[row]! <= next);
  };
  const train = partOf(0, validateFrom);
  if (train.length < MIN_TRAINING_SAMPLES) {
    throw new MucastError(
      "insufficient_history",
      `${ticker} has ${counted(train.length, "training window")}, at least ${MIN_TRAINING_SAMPLES} are needed: ` +
        `${fit.length} of ${counted(panel.fit.length, "fit row")} end a window of ${counted(lookback, "row")}, and the last of these are for validation`,
      {
        ...{ ticker, fit_rows: panel.fit.length, windows: fit.length },
        ...{ training_windows: train.length, lookback },
      },
    );
  }
  const constant = constantTarget(panel, train);
  if (constant !== undefined) throw constant;
  return {
    train,
    validate: partOf(validateFrom, calibrateFrom),
    calibrate: fit.subarray(calibrateFrom),
    score: panel.score.filter((row) => isFull(row, lookback)),
  };
}

/** Whether the network of a ticker has something to forecast among these rows. */
export function hasScoreWindow({ score }: Pick<WindowRows, "score">, lookback: number): boolean {
  return isFull(score.at(-1) ?? -1, lookback);
}

/** Forecasts of a network that learned from fewer samples are noise. The same as the fit rows that a ticker needs. */
export const MIN_TRAINING_SAMPLES = 30;

/**
 * Splits n samples by time: 80 / 20, or 70 / 15 / 15 if intervals need their own part. The weights are learned from the first part, early
 * stopping monitors the loss on the second, and the residuals of the third make the intervals. Parts are rounded down, but to at least 1, and
 * the training part gets the rest, which may be too few, or none.
 */
export function splitSizes(n: number, calibrates: boolean) {
  const percent = calibrates ? 15 : 20;
  const part = Math.max(1, Math.floor((percent * n) / 100));
  const parts = calibrates ? 2 : 1;
  return { train: Math.max(0, n - parts * part), validate: part, calibrate: calibrates ? part : 0 };
}

/** Log-returns are only as exact as the ratio of two prices, a number around 1. */
const ROUNDING = 10 * Number.EPSILON;

/**
 * The error of a ticker whose training labels leave nothing to learn: all are equal up to rounding, for example if a price grows by the same
 * rate every day. Targets are divided by their standard deviation, which would then be only rounding.
 * @param train rows, at least one.
 */
export function constantTarget(
  panel: Pick<WindowRows, "ticker" | "y" | "relative">,
  train: Int32Array,
): MucastError | undefined {
  const targets = targetsOf(panel);
  const learned = Float64Array.from(train, (row) => targets[row]!);
  const spread = learned.reduce((a, b) => Math.max(a, b)) - learned.reduce((a, b) => Math.min(a, b));
  if (spread > ROUNDING) return undefined;
  const message = `${panel.ticker}: all ${train.length} training labels are equal`;
  return new MucastError("constant_target", message, { ticker: panel.ticker });
}
