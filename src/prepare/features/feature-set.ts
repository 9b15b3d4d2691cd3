import type { Pausable } from "../../contract/machine/pausable.ts";
import type { TickerFeatures, TickerPrices } from "../../contract/market/ticker-series.ts";
import {
  averageGap,
  drawdown,
  largestReturn,
  momentum,
  type PriceFeature,
  relativeStrength,
  skewness,
  volatility,
  volatilityRatio,
  zScore,
} from "./price-features.ts";

/** Change it with every feature that is added, removed or computed differently, so that blobs of different versions get different ids. */
export const FEATURE_SET = "mucast-features/1";

/** Features from a ticker's own prices, in the order of the blob. */
const OWN: Readonly<Record<string, PriceFeature>> = {
  mom_1: momentum(1),
  mom_2: momentum(2),
  mom_3: momentum(3),
  mom_5: momentum(5),
  mom_10: momentum(10),
  mom_21: momentum(21),
  mom_63: momentum(63),
  mom_126: momentum(126),
  vol_10: volatility(10),
  vol_21: volatility(21),
  vol_63: volatility(63),
  vol_ratio_10_63: volatilityRatio(10, 63),
  sma_gap_10: averageGap(10),
  sma_gap_50: averageGap(50),
  sma_gap_100: averageGap(100),
  rsi_14: relativeStrength(14),
  zscore_21: zScore(21),
  drawdown_126: drawdown(126),
  skew_63: skewness(63),
  max_21: largestReturn(21),
};

/** Features from one feature of all tickers on the same date. */
const ACROSS: Readonly<Record<string, { of: PriceFeature; by: CrossSection }>> = {
  rel_1: { of: momentum(1), by: relativeToMean },
  rel_5: { of: momentum(5), by: relativeToMean },
  rel_21: { of: momentum(21), by: relativeToMean },
  rank_5: { of: momentum(5), by: rank },
  rank_21: { of: momentum(21), by: rank },
};

/** Names of all features, in the order of the blob. */
export const FEATURE_NAMES: readonly string[] = [...Object.keys(OWN), ...Object.keys(ACROSS), "weekday"];

/**
 * The features of each ticker, one ticker after the other, on its dates with a positive price. Features across tickers compare only the
 * given tickers.
 */
export function* featuresOf(tickers: readonly TickerPrices[]): Pausable<Iterable<TickerFeatures>> {
  const positive = tickers.map(positiveOnly);
  const across: Float64Array[][] = [];
  for (const { of, by } of Object.values(ACROSS)) across.push(yield* acrossTickers(positive, of, by));
  return tickerByTicker(positive, across);
}

/** @param across shape (features across tickers, tickers) of (n of the ticker). */
function* tickerByTicker(
  positive: readonly TickerPrices[],
  across: readonly (readonly Float64Array[])[],
): Generator<TickerFeatures> {
  for (const [t, { ticker, days, prices }] of positive.entries()) {
    const columns = [
      ...Object.values(OWN).map((feature) => feature(prices)),
      ...across.map((all) => all[t]!),
    ];
    columns.push(Float64Array.from(days, weekday));
    const values = new Float64Array(columns.length * days.length);
    columns.forEach((column, c) => {
      values.set(column, c * days.length);
    });
    yield { ticker, days, columns: FEATURE_NAMES, values };
  }
}

function positiveOnly({ ticker, days, prices }: TickerPrices): TickerPrices {
  const kept = (_: number, i: number) => prices[i]! > 0;
  return { ticker, days: days.filter(kept), prices: prices.filter((price) => price > 0) };
}

/** Monday 0 to Sunday 6; 1970-01-01 was a Thursday. */
function weekday(day: number): number {
  return (((day + 3) % 7) + 7) % 7;
}

/** Shape (tickers) of (n of the ticker): `by` applied to the values of `of` that share a date. */
function* acrossTickers(
  tickers: readonly TickerPrices[],
  of: PriceFeature,
  by: CrossSection,
): Pausable<Float64Array[]> {
  const values: Float64Array[] = [];
  for (const { prices } of tickers) {
    values.push(of(prices));
    yield 0;
  }
  const out = values.map((column) => new Float64Array(column.length));
  const next = new Int32Array(tickers.length);
  const onDate = new Float64Array(tickers.length);
  for (const day of unionOfDays(tickers)) {
    yield 0;
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

/**
 * A feature that compares a ticker with the others on one date. The function takes one feature of all tickers on that
 * date, shape (tickers), NaN if a ticker has none, and returns the same shape; NaN stays NaN. It uses no other date.
 */
type CrossSection = (values: Float64Array) => Float64Array;

/** Distance to the equal-weight mean of the tickers that have a value that day; 0 for a single one. */
export function relativeToMean(values: Float64Array): Float64Array {
  const present = values.filter((value) => !Number.isNaN(value));
  const average = present.reduce((sum, value) => sum + value, 0) / present.length;
  return values.map((value) => value - average);
}

/**
 * Rank among the m tickers that have a value that day: (rank - 1/2) / m with ranks 1 to m, ties averaged, so between 0 and 1; 1/2 for a
 * single one.
 */
export function rank(values: Float64Array): Float64Array {
  const sorted = values.filter((value) => !Number.isNaN(value)).sort();
  return values.map((value) => {
    if (Number.isNaN(value)) return Number.NaN;
    const below = firstAtLeast(sorted, value, false);
    const upTo = firstAtLeast(sorted, value, true);
    return (below + upTo) / 2 / sorted.length;
  });
}

/** Index of the first entry that is at least `value`, or, with `above`, greater. */
function firstAtLeast(sorted: Float64Array, value: number, above: boolean): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const before = above ? sorted[middle]! <= value : sorted[middle]! < value;
    if (before) low = middle + 1;
    else high = middle;
  }
  return low;
}
