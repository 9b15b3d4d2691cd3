import assert from "node:assert/strict";
import { test } from "node:test";
import { seededRandom } from "../../test/twins/random.ts";
import { clusterFeatures, rankDistances } from "./feature-clusters.ts";

type FeatureCluster = ReturnType<typeof clusterFeatures>[number];

/** Merges the two nearest clusters again and again, with the mean distance over all pairs of their features. */
function slowClusters(
  distances: Float64Array,
  k: number,
  united: readonly (readonly [number, number])[],
  { maxDistance, maxClusters }: { readonly maxDistance: number; readonly maxClusters: number },
): FeatureCluster[] {
  const distanceOf = (one: FeatureCluster, other: FeatureCluster) => {
    const pairs = one.features.flatMap((a) => other.features.map((b) => distances[a * k + b]!));
    return pairs.reduce((sum, value) => sum + value, 0) / pairs.length;
  };
  const joined = (one: FeatureCluster, other: FeatureCluster): FeatureCluster => ({
    features: [...one.features, ...other.features].sort((a, b) => a - b),
    correlation: 1 - distanceOf(one, other),
  });
  let clusters = Array.from({ length: k }, (_, feature): FeatureCluster => ({ features: [feature] }));
  const replace = (a: FeatureCluster, b: FeatureCluster) => {
    clusters = [...clusters.filter((cluster) => cluster !== a && cluster !== b), joined(a, b)];
  };
  for (const pair of united) {
    const [a, b] = pair.map((feature) => clusters.find(({ features }) => features[0] === feature)!);
    replace(a!, b!);
  }
  while (clusters.length > 1) {
    const pairs = clusters.flatMap((a, i) => clusters.slice(i + 1).map((b) => [a, b] as const));
    const [a, b] = pairs.toSorted((one, other) => distanceOf(...one) - distanceOf(...other))[0]!;
    if (distanceOf(a, b) > maxDistance && clusters.length <= maxClusters) break;
    replace(a, b);
  }
  return clusters.sort((a, b) => a.features[0]! - b.features[0]!);
}

test("clusters equal those of a slow search over all pairs", () => {
  const random = seededRandom(4);
  for (let round = 0; round < 200; round++) {
    const k = 1 + random.below(14);
    const distances = new Float64Array(k * k);
    for (let a = 0; a < k; a++) {
      for (let b = 0; b < a; b++) {
        distances[a * k + b] = random.uniform();
        distances[b * k + a] = distances[a * k + b]!;
      }
    }
    const features = random.shuffled([...distances.subarray(0, k).keys()]);
    const united = Array.from({ length: random.below(1 + Math.floor(k / 2)) }, (_, i) =>
      features.slice(2 * i, 2 * i + 2).sort((a, b) => a - b),
    ) as unknown as [number, number][];
    const limits = { maxDistance: random.uniform(), maxClusters: 1 + random.below(k) };
    const slow = slowClusters(distances, k, united, limits);
    const found = clusterFeatures(distances.slice(), k, united, limits);
    assert.deepEqual(
      found.map(({ features }) => features),
      slow.map(({ features }) => features),
    );
    for (const [i, { correlation = 2 }] of found.entries()) {
      assert.ok(Math.abs(correlation - (slow[i]!.correlation ?? 2)) < 1e-12);
    }
  }
});

test("copies, mirrored and monotone features are one cluster, and independent ones are not", () => {
  const random = seededRandom(5);
  const [rows, k] = [400, 6];
  const sample = new Float64Array(rows * k);
  for (let row = 0; row < rows; row++) {
    const [a, b, c] = [random.normal(), random.normal(), random.normal()];
    sample.set([a, b, -a, Math.exp(b), c, 3], row * k);
  }
  const halves = [sample.subarray(0, 200 * k), sample.subarray(200 * k)];
  for (const samples of [[sample], halves]) {
    for (const together of [true, false]) {
      const clusters = clusterFeatures(rankDistances(samples, k, together), k);
      assert.deepEqual(
        clusters.map(({ features }) => features),
        [[0, 2], [1, 3], [4], [5]],
      );
    }
  }
});
