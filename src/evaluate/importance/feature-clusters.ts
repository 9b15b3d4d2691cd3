/** Features whose rank correlation is at least this large, whatever its sign, are shuffled together. */
const MIN_CORRELATION = 0.7;

/** With more groups than this, the most correlated are merged further. */
const MAX_GROUPS = 50;

/** Features that are shuffled together. */
export interface FeatureCluster {
  /** Ascending. */
  readonly features: readonly number[];
  /** The mean |correlation| between the two parts that were merged last; absent for a single feature. */
  readonly correlation?: number;
}

/** Two features that are in one cluster whatever their distance. */
export type UnitedPair = readonly [number, number];

/**
 * Clusters features by average linkage (UPGMA): two clusters are one if the mean of 1 - |correlation| over their pairs of features is at
 * most 1 - MIN_CORRELATION, and beyond that until at most MAX_GROUPS are left.
 * @param distances shape (k, k), row-major, symmetric: 1 - |correlation|. It is overwritten.
 * @param united no feature is in two pairs.
 * @returns clusters by their first feature.
 */
export function clusterFeatures(
  distances: Float64Array,
  k: number,
  united: readonly UnitedPair[] = [],
  { maxDistance = 1 - MIN_CORRELATION, maxClusters = MAX_GROUPS } = {},
): FeatureCluster[] {
  /** By the feature whose row and column have the distances of the cluster. */
  const clusters = new Map(Array.from({ length: k }, (_, f) => [f, { features: [f] } as FeatureCluster]));
  const join = (a: number, b: number) => {
    const [one, other] = [clusters.get(a)!, clusters.get(b)!];
    const [size, added] = [one.features.length, other.features.length];
    clusters.delete(b);
    const features = [...one.features, ...other.features].sort((x, y) => x - y);
    clusters.set(a, { features, correlation: 1 - distances[a * k + b]! });
    for (const rest of clusters.keys()) {
      if (rest === a) continue;
      const mean = (size * distances[a * k + rest]! + added * distances[b * k + rest]!) / (size + added);
      distances[a * k + rest] = mean;
      distances[rest * k + a] = mean;
    }
  };
  for (const [a, b] of united) join(a, b);
  while (clusters.size > 1) {
    const left = Int32Array.from(clusters.keys());
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
