/** Features whose rank correlation is at least this large, whatever its sign, are shuffled together. */
export const MIN_CORRELATION = 0.7;

/** With more groups than this, the most correlated are merged further. */
export const MAX_GROUPS = 50;

/** Features that are shuffled together. */
export interface FeatureCluster {
  /** Ascending. */
  readonly features: readonly number[];
  /** The mean |correlation| between the two parts that were merged last; absent for a single feature. */
  readonly correlation?: number;
}

/** Two features that are in one cluster whatever their distance. */
export type UnitedPair = readonly [number, number];

/** Two clusters that are merged, and the distance between them. */
interface Merge {
  readonly distance: number;
  /** A feature of each. */
  readonly features: readonly [number, number];
}

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
  const rootOf = Array.from({ length: k }, (_, feature) => feature);
  const find = (feature: number): number => {
    let root = feature;
    while (rootOf[root] !== root) root = rootOf[root]!;
    return root;
  };
  const joined = new Map<number, number>();
  let left = k;
  for (const { distance, features } of [
    ...unite(united, distances, k),
    ...averageLinkage(distances, k, united),
  ]) {
    const isForced = left > k - united.length;
    if (!isForced && distance > maxDistance && left <= maxClusters) break;
    const [a, b] = features.map(find) as [number, number];
    rootOf[Math.max(a, b)] = Math.min(a, b);
    joined.set(Math.min(a, b), distance);
    left--;
  }
  const clusters = Map.groupBy(rootOf.keys(), find);
  return [...clusters].map(([root, features]) => {
    const distance = joined.get(root);
    return distance === undefined ? { features } : { features, correlation: 1 - distance };
  });
}

/** Merges the pairs: the row and the column of the first of each are then those of both. */
function unite(united: readonly UnitedPair[], distances: Float64Array, k: number): Merge[] {
  const merges = united.map((features) => ({
    features,
    distance: distances[features[0] * k + features[1]]!,
  }));
  for (const [first, second] of united) {
    for (let rest = 0; rest < k; rest++) {
      if (rest !== first) merge(distances, k, rest, { into: [first, 1], from: [second, 1] });
    }
  }
  return merges;
}

/** A cluster and its number of features. */
type Sized = readonly [cluster: number, size: number];

/** The distance of a third cluster to the union, in place of its distance to the first. */
function merge(
  distances: Float64Array,
  k: number,
  rest: number,
  { into: [into, size], from: [from, other] }: { readonly into: Sized; readonly from: Sized },
): void {
  const distance =
    (size * distances[into * k + rest]! + other * distances[from * k + rest]!) / (size + other);
  distances[into * k + rest] = distance;
  distances[rest * k + into] = distance;
}

/**
 * The merges of average linkage, nearest first, by chains of nearest neighbours (Murtagh 1983, "A Survey of Recent Advances in Hierarchical
 * Clustering Algorithms"), which take k² steps.
 */
function averageLinkage(distances: Float64Array, k: number, united: readonly UnitedPair[]): Merge[] {
  const sizes = new Float64Array(k).fill(1);
  const active = new Set(sizes.keys());
  for (const [first, second] of united) {
    sizes[first] = 2;
    active.delete(second);
  }
  const merges: Merge[] = [];
  const chain: number[] = [];
  while (active.size > 1) {
    const top = chain.at(-1) ?? active.values().next().value!;
    if (chain.length === 0) chain.push(top);
    const before = chain.at(-2);
    const nearest = nearestOf(top, before, active, distances, k);
    if (nearest !== before) {
      chain.push(nearest);
      continue;
    }
    chain.length -= 2;
    merges.push({ distance: distances[top * k + nearest]!, features: [top, nearest] });
    active.delete(nearest);
    for (const rest of active) {
      if (rest === top) continue;
      merge(distances, k, rest, { into: [top, sizes[top]!], from: [nearest, sizes[nearest]!] });
    }
    sizes[top]! += sizes[nearest]!;
  }
  return merges.sort((a, b) => a.distance - b.distance);
}

/** The nearest active cluster; the one before in the chain if no other is nearer. */
function nearestOf(
  cluster: number,
  before: number | undefined,
  active: ReadonlySet<number>,
  distances: Float64Array,
  k: number,
): number {
  let nearest = before ?? -1;
  let least = before === undefined ? Number.POSITIVE_INFINITY : distances[cluster * k + before]!;
  for (const other of active) {
    const distance = distances[cluster * k + other]!;
    if (other === cluster || distance >= least) continue;
    nearest = other;
    least = distance;
  }
  return nearest;
}
