import { MucastError } from "../../../contract/errors/errors.ts";
import { compareCodePoints } from "../../../contract/market/ticker-series.ts";
import { readNpyRows } from "../../../engine/npy.ts";
import type { Permutation } from "../../../engine/pool/protocol.ts";
import { clusterFeatures, type UnitedPair } from "../../../evaluate/importance/feature-clusters.ts";
import { type FeatureSample, rankDistances } from "../../../evaluate/importance/rank-distances.ts";
import { zScoreName } from "../../../panel/cross-section.ts";
import { uniteFeatures } from "../../../panel/feature-union.ts";
import type { FitPanel } from "../../shared/panels.ts";
import type { PlannedFit } from "../fits.ts";

/** Features that are shuffled together, because they say nearly the same. */
export interface FeatureGroup {
  readonly features: readonly string[];
  /** The mean |rank correlation| between the two parts that were merged last; absent for a single feature. */
  readonly correlation?: number;
}

/** More features than this have more pairs than is reasonable to compare. */
const MAX_FEATURES = 1_000;

/** Rows of all tickers together that are read for the correlations. */
const MAX_SAMPLE_ROWS = 20_000;

/** Sample rows times pairs of features, which takes about a second. */
const MAX_PRODUCTS = 2e8;

/** Fewer rows of a ticker say little about correlations. */
const MIN_TICKER_ROWS = 20;

/**
 * Groups the features of all tickers by the rank correlations of their fit rows. A feature and its z-score are always together.
 * @param isPooled compares rows of different tickers, as a pooled fit does; otherwise only those of the same ticker.
 * @returns groups and their features in the order of the columns.
 * @throws MucastError too_large for more than MAX_FEATURES features.
 */
export function groupFeatures(panels: readonly FitPanel[], isPooled: boolean): FeatureGroup[] {
  const learning = panels
    .filter(({ joins }) => joins === undefined)
    .sort((a, b) => compareCodePoints(a.ticker, b.ticker));
  const { names, columns } = uniteFeatures(learning);
  const k = names.length;
  if (k > MAX_FEATURES) {
    const message = `importance compares at most ${MAX_FEATURES} features, and the tickers have ${k}: reduce the features, or set importance to false`;
    throw new MucastError("too_large", message);
  }
  const rows = Math.min(MAX_SAMPLE_ROWS, Math.floor(MAX_PRODUCTS / ((k * (k + 1)) / 2)));
  const perTicker = Math.max(MIN_TICKER_ROWS, Math.floor(rows / Math.max(1, learning.length)));
  const every = Math.ceil((learning.length * perTicker) / rows);
  const samples: FeatureSample[] = [];
  for (const [j, panel] of learning.entries()) {
    if (j % every !== 0) continue;
    samples.push(sampleOf(panel, columns[j]!, k, perTicker));
  }
  const distances = rankDistances(samples, k, isPooled);
  const clusters = clusterFeatures(distances, k, scoredPairs(learning, names));
  return clusters.map((cluster) => ({
    ...cluster,
    features: cluster.features.map((column) => names[column]!),
  }));
}

function scoredPairs(panels: readonly FitPanel[], names: readonly string[]): UnitedPair[] {
  const scores = new Set(
    panels.flatMap(({ columns, zScores = 0 }) => columns.slice(columns.length - zScores)),
  );
  const places = new Map(names.map((name, column) => [name, column]));
  return names.flatMap((name, column) => {
    const score = zScoreName(name);
    return !scores.has(name) && scores.has(score) ? [[column, places.get(score)!] as const] : [];
  });
}

function sampleOf(
  { x, fit, columns: { length: width } }: FitPanel,
  columns: readonly number[],
  k: number,
  most: number,
): FeatureSample {
  const count = Math.min(most, fit.length);
  const sample = new Float64Array(count * k).fill(Number.NaN);
  if (count === 0) return sample;
  const first = fit[0]!;
  const values = readNpyRows(x, first, fit.at(-1)! + 1);
  for (let i = 0; i < count; i++) {
    const from = (fit[Math.floor((i * fit.length) / count)]! - first) * width;
    for (const [c, column] of columns.entries()) sample[i * k + column] = values[from + c]!;
  }
  return sample;
}

/**
 * The shuffled features of a task's fits: the columns of each group, in a matrix with these columns, that it has.
 * @param ticker decides the order; empty for a pooled fit.
 */
export function permutationOf(
  groups: readonly FeatureGroup[],
  columns: readonly string[],
  ticker = "",
): Permutation {
  const positions = new Map(columns.map((name, column) => [name, column]));
  return {
    groups: groups.map(({ features }) => features.flatMap((name) => positions.get(name) ?? [])),
    seed: [...Buffer.from(ticker)],
  };
}

/** A fold whose rows get values of any row that its model may know: those that it trains on and tests. */
export function withKnownRows(fold: PlannedFit): PlannedFit {
  return { ...fold, pool: [fold.train[0], fold.predict[1]] };
}
