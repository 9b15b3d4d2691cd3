import { averageRanks } from "./rank.ts";

/** Features whose rank correlation is at least this large, whatever its sign, are shuffled together. */
const MIN_CORRELATION = 0.7;

/** With more groups than this, the most correlated are merged further. */
const MAX_GROUPS = 50;

/**
 * 1 - |Spearman's rank correlation| of each pair of features, over the rows of the tickers that have both.
 * @param samples some rows of each ticker: shape (rows, k), row-major; a column of NaN if it lacks a feature.
 * @param together ranks the rows of all samples among each other; otherwise each sample by itself, so that only rows of the same ticker are
 *   compared.
 * @returns shape (k, k), row-major. A feature without two different ranks is at distance 1 from all others.
 */
export function rankDistances(samples: readonly Float64Array[], k: number, together: boolean): Float64Array {
  const ranked = together ? centredRanks(samples, k) : samples.flatMap((sample) => centredRanks([sample], k));
  const products = new Float64Array(k * k);
  // Of the first feature of each pair, over the rows that have the second.
  const squares = new Float64Array(k * k);
  for (const [s, ranks] of ranked.entries()) {
    const columns = [...samples[s]!.subarray(0, k).keys()].filter((c) => !Number.isNaN(samples[s]![c]!));
    const own = new Float64Array(k);
    for (let row = 0; row < ranks.length; row += k) {
      for (const [i, a] of columns.entries()) {
        const value = ranks[row + a]!;
        own[a]! += value * value;
        for (let j = i + 1; j < columns.length; j++) {
          const b = columns[j]!;
          products[a * k + b]! += value * ranks[row + b]!;
        }
      }
    }
    for (const a of columns) for (const b of columns) squares[a * k + b]! += own[a]!;
  }
  const distances = new Float64Array(k * k);
  for (let a = 0; a < k; a++) {
    for (let b = a + 1; b < k; b++) {
      const size = Math.sqrt(squares[a * k + b]! * squares[b * k + a]!);
      const distance = size > 0 ? 1 - Math.abs(products[a * k + b]! / size) : 1;
      distances[a * k + b] = distances[b * k + a] = distance;
    }
  }
  return distances;
}

/** For each sample: the ranks of its values in each column among those of all samples, as shares of their number, minus their mean. */
function centredRanks(samples: readonly Float64Array[], k: number): Float64Array[] {
  const ranked = samples.map((sample) => new Float64Array(sample.length));
  for (let column = 0; column < k; column++) {
    const places: (readonly [sample: number, at: number])[] = [];
    for (const [s, sample] of samples.entries())
      for (let at = column; at < sample.length; at += k) if (!Number.isNaN(sample[at]!)) places.push([s, at]);
    const ranks = averageRanks(Float64Array.from(places, ([s, at]) => samples[s]![at]!));
    const centre = (places.length + 1) / 2;
    for (const [i, [s, at]] of places.entries()) ranked[s]![at] = (ranks[i]! - centre) / places.length;
  }
  return ranked;
}

interface FeatureCluster {
  /** Ascending. */
  readonly features: readonly number[];
  /** The mean |correlation| between the two parts that were merged last; absent for a single feature. */
  readonly correlation?: number;
}

/**
 * Clusters features by average linkage (UPGMA): two clusters are one if the mean of 1 - |correlation| over their pairs of features is at
 * most 1 - MIN_CORRELATION, and beyond that until at most MAX_GROUPS are left.
 * @param distances shape (k, k), row-major, symmetric: 1 - |correlation|. It is overwritten.
 * @param united pairs of features that are in one cluster whatever their distance; no feature is in two pairs.
 * @returns clusters by their first feature.
 */
export function clusterFeatures(
  distances: Float64Array,
  k: number,
  united: readonly (readonly [number, number])[] = [],
  { maxDistance = 1 - MIN_CORRELATION, maxClusters = MAX_GROUPS } = {},
): FeatureCluster[] {
  /** By the feature whose row and column have the distances of the cluster. */
  const clusters = new Map(Array.from({ length: k }, (_, f) => [f, { features: [f] } as FeatureCluster]));
  const join = (a: number, b: number) => {
    const [one, other] = [clusters.get(a)!.features, clusters.get(b)!.features];
    clusters.delete(b);
    const features = [...one, ...other].sort((x, y) => x - y);
    clusters.set(a, { features, correlation: 1 - distances[a * k + b]! });
    for (const rest of clusters.keys()) {
      if (rest === a) continue;
      const sum = one.length * distances[a * k + rest]! + other.length * distances[b * k + rest]!;
      distances[a * k + rest] = distances[rest * k + a] = sum / features.length;
    }
  };
  for (const [a, b] of united) join(a, b);
  while (clusters.size > 1) {
    const left = [...clusters.keys()];
    let [first, second, least] = [0, 0, Number.POSITIVE_INFINITY];
    for (let i = 1; i < left.length; i++) {
      for (let j = 0; j < i; j++) {
        const distance = distances[left[j]! * k + left[i]!]!;
        if (distance < least) [first, second, least] = [left[j]!, left[i]!, distance];
      }
    }
    if (least > maxDistance && clusters.size <= maxClusters) break;
    join(first, second);
  }
  return [...clusters.values()].sort((a, b) => a.features[0]! - b.features[0]!);
}
