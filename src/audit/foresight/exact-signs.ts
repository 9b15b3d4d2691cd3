/** Signs in the values of a feature of one ticker that no chance explains: copies, filled gaps, scaling by the whole sample. */
import { counted } from "../../contract/errors/wording.ts";
import type { Feature, TickerHistory } from "./feature-history.ts";
import type { Suspicion } from "./foresight-findings.ts";
import { MIN_PAIRS } from "./rank-correlation.ts";
import { MAX_LAG } from "./return-signs.ts";

/** The kinds of values that a feature may be a copy of. */
const QUANTITIES = {
  price: ({ prices }, row, lag) => prices[row + lag],
  return: ({ y }, row, lag) => y[row + lag - 1],
  simple_return: ({ prices }, row, lag) => prices[row + lag]! / prices[row + lag - 1]! - 1,
  return_over_days: ({ prices }, row, lag) => Math.log(prices[row + lag]! / prices[row]!),
  simple_return_over_days: ({ prices }, row, lag) => prices[row + lag]! / prices[row]! - 1,
} as const satisfies Record<string, (history: TickerHistory, row: number, lag: number) => number | undefined>;

/** Relative to the spread of a feature, or to the rise between two of its values. */
const TOLERANCE = 1e-9;

/**
 * Whether a feature equals a later price or return on each of its rows: up to TOLERANCE, possibly scaled and shifted. A feature that
 * also equals a price or return known on its date, or with a delay when the trade takes place, is not a copy of a later one: prices may rise
 * by the same amount each day.
 */
export function findCopy(history: TickerHistory, { x }: Feature): Suspicion | undefined {
  const { priceRows, days, delay } = history;
  // The original has its extremes where x has them, if it has prices MAX_LAG + 1 dates before and MAX_LAG after.
  let [least, most] = [-1, -1];
  for (let i = 0; i < x.length; i++) {
    const row = priceRows[i]!;
    if (!Number.isFinite(x[i]!) || row <= MAX_LAG || row + MAX_LAG >= days.length) continue;
    if (least < 0 || x[i]! < x[least]!) least = i;
    if (most < 0 || x[i]! > x[most]!) most = i;
  }
  if (least < 0 || x[least] === x[most]) return undefined;
  const firstCopy = (from: number, to: number) => {
    for (let lag = from; lag <= to; lag++)
      for (const of of Object.keys(QUANTITIES) as (keyof typeof QUANTITIES)[]) {
        const valueAt = (i: number) => QUANTITIES[of](history, priceRows[i]!, lag) ?? Number.NaN;
        const line = lineThrough(x, valueAt, least, most);
        if (line !== undefined) return { of, lag, ...line };
      }
    return undefined;
  };
  const copy = firstCopy(1 + delay, MAX_LAG);
  if (copy === undefined || firstCopy(-MAX_LAG, delay) !== undefined) return undefined;
  const { of, lag, scale, offset, n } = copy;
  const text = `is ${of.replaceAll("_", " ")} of ${counted(lag, "price date")} later on each of ${counted(n, "row")}, times ${scale} plus ${offset}`;
  return { code: "equals_later_value", text, figures: copy };
}

/** The line through two points (value, x), if every other point lies on it, too. */
function lineThrough(x: Float64Array, valueAt: (i: number) => number, least: number, most: number) {
  const spread = x[most]! - x[least]!;
  const scale = spread / (valueAt(most) - valueAt(least));
  const offset = x[least]! - scale * valueAt(least);
  if (!Number.isFinite(scale) || !Number.isFinite(offset)) return undefined;
  let n = 0;
  for (let i = 0; i < x.length; i++) {
    const value = valueAt(i);
    if (!Number.isFinite(x[i]!) || !Number.isFinite(value)) continue;
    if (!(Math.abs(x[i]! - (scale * value + offset)) <= TOLERANCE * spread)) return undefined;
    n++;
  }
  return n >= MIN_PAIRS ? { scale, offset, n } : undefined;
}

/** Fewer filled values may be chance. */
const MIN_FILLED = 3;

/**
 * If more of a column's values with a price look filled, this sign cannot judge it: weekdays and months, steps, and ranks among few
 * tickers do. Freely moving values hardly ever do.
 */
const MAX_USUAL = 0.05;

/** How many values a feature has on dates without a price, and the suspicion if they were filled from later ones. */
export function findFilled(history: TickerHistory, feature: Feature) {
  const found = countFilled(history, feature, history.unpricedRows);
  const { values, fromLater } = found;
  const isFilled = fromLater >= MIN_FILLED && shareFilled(found) > 0.5;
  const usual = isFilled ? countFilled(history, feature, history.featureRows.subarray(1, -1)) : found;
  if (!isFilled || shareFilled(usual) > MAX_USUAL) return { values, suspicion: undefined };
  const text = `has ${counted(values, "value")} on dates without a price, ${fromLater} of them filled from the next date with one`;
  const suspicion: Suspicion = { code: "filled_from_later", text, figures: found };
  return { values, suspicion };
}

/** Of the values that differ from the previous one, the share that looks filled from the next one. */
export function shareFilled({ values, fromLater, fromEarlier }: ReturnType<typeof countFilled>): number {
  return values === fromEarlier ? 0 : fromLater / (values - fromEarlier);
}

/**
 * Counts the values on rows of the blob: those equal to the last one before with a price, and of the others those that the next one with
 * a price explains: equal to it, or on the straight line to it, by rows or by days.
 */
export function countFilled({ features, featureRows }: TickerHistory, { all: x }: Feature, rows: Int32Array) {
  const { days } = features;
  let [values, fromLater, fromEarlier, at] = [0, 0, 0, 0];
  for (const row of rows) {
    while (featureRows[at]! < row) at++;
    if (!Number.isFinite(x[row]!)) continue;
    values++;
    const earlier = featureRows[at - 1];
    const later = featureRows[featureRows[at] === row ? at + 1 : at];
    if (earlier !== undefined && x[row] === x[earlier]) fromEarlier++;
    else if (later !== undefined && x[row] === x[later]) fromLater++;
    else if (earlier !== undefined && later !== undefined) {
      const rise = x[later]! - x[earlier]!;
      const shares = [
        (row - earlier) / (later - earlier),
        (days[row]! - days[earlier]!) / (days[later]! - days[earlier]!),
      ];
      const isOnLine = (share: number) =>
        Math.abs(x[row]! - x[earlier]! - share * rise) <= TOLERANCE * Math.abs(rise);
      if (Number.isFinite(rise) && shares.some(isOnLine)) fromLater++;
    }
  }
  return { values, fromLater, fromEarlier };
}

/** Features with few distinct values, such as signs, may have mean 0 and deviation 1 by themselves. */
const MIN_DISTINCT = 10;

const MIN_VALUES = 100;

/** Over all values of the column, and over those of its rows in the window. */
export function findScaled({ all, x }: Feature): Suspicion | undefined {
  for (const values of [all, x]) {
    // A score across tickers on each date is standardised over every part, and does not count.
    const isScore = isStandard(values) && !isStandard(values.subarray(0, Math.floor(values.length / 2)));
    if (!isScore && !isScaledByEnds(values)) continue;
    const finite = values.filter(Number.isFinite);
    if (new Set(finite).size < MIN_DISTINCT) continue;
    const scaled = isScore ? "has mean 0 and standard deviation 1" : "reaches each end of its scale once";
    const text = `${scaled} over all its ${counted(finite.length, "value")}, but not over the earlier ones alone`;
    return { code: "whole_sample_standardised", text, figures: { values: finite.length } };
  }
  return undefined;
}

/** Values with at least 6 decimals keep mean and deviation as exactly. Chance comes as close once in 10^9 features. */
const SCORE_TOLERANCE = 1e-6;

/** Whether the finite values have mean 0 and deviation 1 (ddof 0 or 1). */
function isStandard(values: Float64Array): boolean {
  let [n, sum, squares] = [0, 0, 0];
  for (const value of values) {
    if (!Number.isFinite(value)) continue;
    n++;
    sum += value;
    squares += value * value;
  }
  if (n < MIN_VALUES) return false;
  const mean = sum / n;
  const variance = squares / n - mean * mean;
  const deviations = [Math.sqrt(variance), Math.sqrt((variance * n) / (n - 1))];
  return Math.abs(mean) <= SCORE_TOLERANCE && deviations.some((one) => Math.abs(one - 1) <= SCORE_TOLERANCE);
}

/** How close to 0 and 1 the ends of a scaled column are: exact up to the last digits. */
const ENDS_TOLERANCE = 1e-9;

const SCALES = [
  [0, 1],
  [-1, 1],
  [0, 100],
] as const;

/**
 * Whether values were scaled by the minimum and maximum of the whole sample: each end of a usual scale occurs exactly once, and not
 * both in the first half. Oscillators and ranks reach their ends again and again.
 */
function isScaledByEnds(values: Float64Array): boolean {
  const finite = values.filter(Number.isFinite);
  if (finite.length < MIN_VALUES) return false;
  const low = finite.reduce((a, b) => Math.min(a, b));
  const high = finite.reduce((a, b) => Math.max(a, b));
  const isEnd = (value: number, end: number) =>
    Math.abs(value - end) <= ENDS_TOLERANCE * Math.max(1, Math.abs(end));
  const isOnce = (end: number) => values.indexOf(end) === values.lastIndexOf(end);
  return (
    SCALES.some(([from, to]) => isEnd(low, from) && isEnd(high, to)) &&
    isOnce(low) &&
    isOnce(high) &&
    Math.max(values.indexOf(low), values.indexOf(high)) >= Math.floor(values.length / 2)
  );
}
