/** Features whose rank correlation is at least this large, whatever its sign, are shuffled together. */
export const MIN_CORRELATION = 0.7;

/** With more groups than this, the most correlated are merged further. */
export const MAX_GROUPS = 50;

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
 * @returns the features of each cluster, ascending; clusters by their first feature.
 */
export function clusterFeatures(
  distances: Float64Array,
  k: number,
  maxDistance = 1 - MIN_CORRELATION,
  maxClusters = MAX_GROUPS,
): number[][] {
  const clusterOf = Array.from({ length: k }, (_, feature) => feature);
  const rootOf = (feature: number): number => {
    let root = feature;
    while (clusterOf[root] !== root) root = clusterOf[root]!;
    return root;
  };
  let left = k;
  for (const { distance, features } of averageLinkage(distances, k)) {
    if (distance > maxDistance && left <= maxClusters) break;
    const [a, b] = features.map(rootOf) as [number, number];
    clusterOf[Math.max(a, b)] = Math.min(a, b);
    left--;
  }
  const clusters = Map.groupBy(clusterOf.keys(), rootOf);
  return [...clusters.values()];
}

/**
 * The merges of average linkage, nearest first, by chains of nearest neighbours (Murtagh 1983, "A Survey of Recent Advances in Hierarchical
 * Clustering Algorithms"), which take k² steps.
 */
function averageLinkage(distances: Float64Array, k: number): Merge[] {
  const sizes = new Float64Array(k).fill(1);
  const active = new Set(sizes.keys());
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
    const [own, other] = [sizes[top]!, sizes[nearest]!];
    for (const rest of active) {
      if (rest === top) continue;
      const [toOwn, toOther] = [distances[top * k + rest]!, distances[nearest * k + rest]!];
      const distance = (own * toOwn + other * toOther) / (own + other);
      distances[top * k + rest] = distance;
      distances[rest * k + top] = distance;
    }
    sizes[top] = own + other;
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
