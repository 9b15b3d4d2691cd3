/** A factor that applies from one row until the row before the next step. */
export interface FactorStep {
  /** Row of its first value. */
  readonly from: number;
  readonly factor: number;
}

/** Minimum count of numbers, except zeros, that must fit a factor: fewer may fit by accident. */
const MIN_VALUES = 10;
/** Splits and dividends of one ticker between two blobs. */
const MAX_STEPS = 8;
/** The rounding error of a number with 7 digits. */
const PRINTED = 1e-7;
/** A factor closer to 1 may come from rounding errors, if only a value or two moved by as little. */
const MIN_ADJUSTMENT = 1e-6;
/** The largest share of a value that printing with few decimals may explain; old prices of a stock that split often are cents. */
const MAX_PRINTED = 0.25;
/** How tightly the values of a step together must determine its factor, as a share. */
const MAX_LOOSE = 0.01;
const MAX_DECIMALS = 6;

/** A step while values are added to it, with the bounds of its factor, and how many values that explains. */
interface OpenStep {
  readonly from: number;
  low: number;
  high: number;
  count: number;
}

/**
 * Recognises a history that was multiplied by constants, as an adjustment for splits and dividends does: the oldest values have a
 * factor, and only the newest have none. Both sides may be printed with few decimals.
 * @param before, after shape (m); rows where either is NaN do not count.
 * @returns the factors from the oldest on, the last of which may be 1; undefined if constants do not explain every value.
 */
export function constantFactors(before: Float64Array, after: Float64Array): FactorStep[] | undefined {
  const [beforeStep, afterStep] = [printedStep(before), printedStep(after)];
  const steps: OpenStep[] = [];
  for (let i = 0; i < before.length; i++) {
    const [x, y] = [before[i]!, after[i]!];
    if (Number.isNaN(x) || Number.isNaN(y) || (x === 0 && y === 0)) continue;
    if (!Number.isFinite(y / x)) return undefined;
    const printed = 0.5 * (afterStep + Math.abs(y / x) * beforeStep);
    const slack = PRINTED * Math.abs(y) + Math.min(MAX_PRINTED * Math.abs(y), printed);
    const ends = [(y - slack) / x, (y + slack) / x] as const;
    const [least, most] = [Math.min(...ends), Math.max(...ends)];
    const open = steps.at(-1);
    if (open !== undefined && Math.max(open.low, least) <= Math.min(open.high, most)) {
      open.low = Math.max(open.low, least);
      open.high = Math.min(open.high, most);
      open.count++;
      continue;
    }
    if (steps.length === MAX_STEPS || (open !== undefined && open.count < MIN_VALUES)) return undefined;
    steps.push({ from: i, low: least, high: most, count: 1 });
  }
  return areAdjustments(steps)
    ? steps.map((step) => ({ from: step.from, factor: factorOf(step) }))
    : undefined;
}

/** A factor between the bounds: 1 if it may be 1, or is closer to 1 than any adjustment. */
function factorOf({ low, high }: OpenStep): number {
  return low <= 1 + MIN_ADJUSTMENT && high >= 1 - MIN_ADJUSTMENT ? 1 : (low + high) / 2;
}

/** An adjustment reaches back to the start; a restated stretch has unchanged values, or the same factor, before and after it. */
function areAdjustments(steps: readonly OpenStep[]): boolean {
  const newest = steps.at(-1);
  if (newest === undefined) return false;
  const isOne = (step: OpenStep) => factorOf(step) === 1;
  const isBound = ({ low, high }: OpenStep) => Math.abs(high - low) <= MAX_LOOSE * Math.abs(low + high);
  const recurs = ({ low, high }: OpenStep, i: number) =>
    steps.slice(i + 2).some((later) => later.low <= high && later.high >= low);
  return (
    steps.every((step) => isOne(step) || isBound(step)) &&
    !steps.slice(0, Math.max(1, steps.length - 1)).some(isOne) &&
    !steps.some(recurs) &&
    (newest.count >= MIN_VALUES || isOne(newest))
  );
}

/**
 * Recognises a column that was standardised again: after = offset + factor * before for every value, with at least 10 values between the
 * extremes that define the line.
 * @param before, after shape (m); rows where either is NaN do not count.
 */
export function isLinear(before: Float64Array, after: Float64Array): boolean {
  let [least, most] = [-1, -1];
  for (let i = 0; i < before.length; i++) {
    if (Number.isNaN(before[i]!) || Number.isNaN(after[i]!)) continue;
    if (least < 0 || before[i]! < before[least]!) least = i;
    if (most < 0 || before[i]! > before[most]!) most = i;
  }
  if (least < 0) return false;
  const [low, high] = [before[least]!, before[most]!];
  const factor = (after[most]! - after[least]!) / (high - low);
  if (!Number.isFinite(factor) || factor === 0) return false;
  const offset = after[least]! - factor * low;
  const spread = Math.abs(after[most]! - after[least]!);
  const rounded = 2 * (printedStep(after) + Math.abs(factor) * printedStep(before));
  const slack = PRINTED * Math.max(spread, Math.abs(after[least]!)) + Math.min(MAX_LOOSE * spread, rounded);
  let between = 0;
  for (let i = 0; i < before.length; i++) {
    const [x, y] = [before[i]!, after[i]!];
    if (Number.isNaN(x) || Number.isNaN(y)) continue;
    if (!(Math.abs(y - (offset + factor * x)) <= slack)) return false;
    if (x > low && x < high) between++;
  }
  return between >= MIN_VALUES;
}

/** The last decimal that all values are printed with, such as 0.01; 0 if they have more than 6 decimals. */
function printedStep(values: Float64Array): number {
  // A decimal number times a power of ten is inexact only in its last digits.
  const isWhole = (value: number) => {
    const size = Math.abs(value);
    return size < 1e12 && Math.abs(value - Math.round(value)) <= 8 * Number.EPSILON * size;
  };
  let decimals = 0;
  for (const value of values) {
    if (Number.isNaN(value)) continue;
    while (!isWhole(value * 10 ** decimals)) if (++decimals > MAX_DECIMALS) return 0;
  }
  return 10 ** -decimals;
}
