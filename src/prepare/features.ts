import type { TickerFeatures, TickerPrices } from "../contract/market/ticker-series.ts";

/** Change it with every feature that is added, removed or computed differently, so that blobs of different versions get different ids. */
export const FEATURE_SET = "mucast-features/1";

/**
 * A feature of one ticker from its own closing prices P_0 .. P_n-1, all positive, one for each of its price dates, so that its returns are
 * those since its last price. Shape (n): entry i is known at the close of date i, uses only P_j with j <= i, and is NaN if its window is not
 * full. docs/prepare.md has the formulas and their sources.
 */
type PriceFeature = (prices: Float64Array) => Float64Array;
/** A measure of the half-open window `values[from .. to - 1]`. */
type Measure = (values: Float64Array, from: number, to: number) => number;

const momentum = (horizon: number): PriceFeature => {
  return (prices) =>
    prices.map((price, i) => (i < horizon ? Number.NaN : Math.log(price / prices[i - horizon]!)));
};
const ofReturns =
  (measure: Measure) =>
  (length: number): PriceFeature =>
  (prices) =>
    rolling(momentum(1)(prices), length, measure, 1);
const distanceTo =
  (measure: Measure) =>
  (length: number): PriceFeature =>
  (prices) => {
    const measures = rolling(prices, length, measure);
    return prices.map((price, i) => Math.log(price / measures[i]!));
  };
const volatility = ofReturns(deviation);

/** In the order of the blob. */
const OWN: Readonly<Record<string, PriceFeature>> = {
  ...byLength("mom", momentum, 1, 2, 3, 5, 10, 21, 63, 126),
  ...byLength("vol", volatility, 10, 21, 63),
  vol_ratio_10_63: (prices) => {
    const long = volatility(63)(prices);
    return volatility(10)(prices).map((short, i) => (long[i] === 0 ? 1 : short / long[i]!));
  },
  ...byLength("sma_gap", distanceTo(mean), 10, 50, 100),
  rsi_14: (prices) => {
    const changes = prices.map((price, i) => (i === 0 ? Number.NaN : price - prices[i - 1]!));
    return rolling(changes, 14, strength, 1);
  },
  zscore_21: (prices) => {
    const [averages, deviations] = [rolling(prices, 21, mean), rolling(prices, 21, deviation)];
    return prices.map((price, i) => (deviations[i] === 0 ? 0 : (price - averages[i]!) / deviations[i]!));
  },
  ...byLength("drawdown", distanceTo(maximum), 126),
  ...byLength("skew", ofReturns(skewness), 63),
  ...byLength("max", ofReturns(maximum), 21),
};

function byLength(name: string, feature: (length: number) => PriceFeature, ...lengths: readonly number[]) {
  return Object.fromEntries(lengths.map((length) => [`${name}_${length}`, feature(length)]));
}

/**
 * A measure of the last `length` values at each index; NaN before the first full window. An entry depends on no value after its index,
 * nor on one before its window.
 * @param first number of initial values that belong to no window (there is no return before the second price).
 */
function rolling(values: Float64Array, length: number, measure: Measure, first = 0): Float64Array {
  const out = new Float64Array(values.length).fill(Number.NaN);
  for (let i = first + length - 1; i < values.length; i++) out[i] = measure(values, i - length + 1, i + 1);
  return out;
}

function mean(values: Float64Array, from: number, to: number): number {
  let sum = 0;
  for (let i = from; i < to; i++) sum += values[i]!;
  return sum / (to - from);
}

/** With ddof 1; exactly 0 if all values are equal. */
function deviation(values: Float64Array, from: number, to: number): number {
  return Math.sqrt((centralMoment(values, from, to, 2) * (to - from)) / (to - from - 1));
}

/** m3 / m2^1.5; 0 if all values are equal. */
function skewness(values: Float64Array, from: number, to: number): number {
  const second = centralMoment(values, from, to, 2);
  return second === 0 ? 0 : centralMoment(values, from, to, 3) / (second * Math.sqrt(second));
}

/** Mean of the `power`-th powers of the distances from the mean; exactly 0 if all values are equal. */
function centralMoment(values: Float64Array, from: number, to: number, power: 2 | 3): number {
  let isFlat = true;
  for (let i = from + 1; i < to && isFlat; i++) isFlat = values[i] === values[from];
  if (isFlat) return 0;
  const centre = mean(values, from, to);
  let sum = 0;
  for (let i = from; i < to; i++) {
    const distance = values[i]! - centre;
    sum += power === 2 ? distance * distance : distance * distance * distance;
  }
  return sum / (to - from);
}

function maximum(values: Float64Array, from: number, to: number): number {
  let most = Number.NEGATIVE_INFINITY;
  for (let i = from; i < to; i++) if (values[i]! > most) most = values[i]!;
  return most;
}

/** The relative strength index: 100 U / (U + D), U and D the sums of rises and falls; 50 if there is none. */
function strength(changes: Float64Array, from: number, to: number): number {
  let rises = 0;
  let falls = 0;
  for (let i = from; i < to; i++) {
    if (changes[i]! > 0) rises += changes[i]!;
    else falls -= changes[i]!;
  }
  return rises + falls === 0 ? 50 : (100 * rises) / (rises + falls);
}

/**
 * A feature that compares a ticker with the others on one date, from one feature of all tickers on that date: shape (tickers), NaN if a
 * ticker has none. NaN stays NaN.
 */
type CrossSection = (values: Float64Array) => Float64Array;

/** Distance to the equal-weight mean of the tickers that have a value that day; 0 for a single one. */
export function relativeToMean(values: Float64Array): Float64Array {
  const present = values.filter((value) => !Number.isNaN(value));
  const average = present.reduce((sum, value) => sum + value, 0) / present.length;
  return values.map((value) => value - average);
}

/** (rank - 1/2) / m among the m tickers that have a value that day, ties averaged, so between 0 and 1; 1/2 for a single one. */
export function rank(values: Float64Array): Float64Array {
  const sorted = values.filter((value) => !Number.isNaN(value)).sort();
  const ranks = new Map<number, number>();
  for (let from = 0, to = 0; from < sorted.length; from = to) {
    while (sorted[to] === sorted[from]) to++;
    ranks.set(sorted[from]!, (from + to) / 2 / sorted.length);
  }
  return values.map((value) => ranks.get(value) ?? Number.NaN);
}

/** Features from the momentum of all tickers on the same date. */
const ACROSS: Readonly<Record<string, readonly [horizon: number, by: CrossSection]>> = {
  rel_1: [1, relativeToMean],
  rel_5: [5, relativeToMean],
  rel_21: [21, relativeToMean],
  rank_5: [5, rank],
  rank_21: [21, rank],
};

/** Names of all features, in the order of the blob. */
export const FEATURE_NAMES: readonly string[] = [...Object.keys(OWN), ...Object.keys(ACROSS), "weekday"];

/** The features of each ticker in turn, on its dates with a positive price. Features across tickers compare only the given ones. */
export function* featuresOf(tickers: readonly TickerPrices[]): Generator<TickerFeatures> {
  const positive = tickers.map(({ ticker, days, prices }) => ({
    ticker,
    days: days.filter((_, i) => prices[i]! > 0),
    prices: prices.filter((price) => price > 0),
  }));
  const across = Object.values(ACROSS).map(([horizon, by]) => compareTickers(positive, horizon, by));
  for (const [t, { ticker, days, prices }] of positive.entries()) {
    const columns = [
      ...Object.values(OWN).map((feature) => feature(prices)),
      ...across.map((all) => all[t]!),
      // Monday 0 to Sunday 6; 1970-01-01 was a Thursday.
      Float64Array.from(days, (day) => (((day + 3) % 7) + 7) % 7),
    ];
    const values = new Float64Array(columns.length * days.length);
    for (const [c, column] of columns.entries()) values.set(column, c * days.length);
    yield { ticker, days, columns: FEATURE_NAMES, values };
  }
}

/** Shape (tickers) of (n of the ticker): `by` applied to the values of the momentum that share a date. */
function compareTickers(tickers: readonly TickerPrices[], horizon: number, by: CrossSection): Float64Array[] {
  const values = tickers.map(({ prices }) => momentum(horizon)(prices));
  const out = values.map((column) => new Float64Array(column.length));
  const next = new Int32Array(tickers.length);
  const onDate = new Float64Array(tickers.length);
  for (const day of unionOfDays(tickers)) {
    const here = tickers.map(({ days }, t) => days[next[t]!] === day);
    for (let t = 0; t < tickers.length; t++) onDate[t] = here[t] ? values[t]![next[t]!]! : Number.NaN;
    const compared = by(onDate);
    for (let t = 0; t < tickers.length; t++) if (here[t]) out[t]![next[t]!++] = compared[t]!;
  }
  return out;
}

export function unionOfDays(tickers: readonly TickerPrices[]): Int32Array {
  const all = new Set<number>();
  for (const { days } of tickers) for (const day of days) all.add(day);
  return Int32Array.from(all).sort();
}
