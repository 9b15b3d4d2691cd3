import assert from "node:assert/strict";
import { test } from "node:test";
import { seededRandom } from "../../../test/twins/random.ts";
import { clusterFeatures } from "./feature-clusters.ts";
import { rankDistances } from "./rank-distances.ts";

/** Merges the two nearest clusters again and again, with the mean distance over all pairs of their features. */
function slowClusters(distances: Float64Array, k: number, maxDistance: number, maxClusters: number) {
  let clusters = Array.from({ length: k }, (_, feature) => [feature]);
  while (clusters.length > 1) {
    let best = { distance: Number.POSITIVE_INFINITY, a: 0, b: 0 };
    for (let a = 0; a < clusters.length; a++) {
      for (let b = a + 1; b < clusters.length; b++) {
        const pairs = clusters[a]!.flatMap((x) => clusters[b]!.map((y) => distances[x * k + y]!));
        const distance = pairs.reduce((sum, value) => sum + value, 0) / pairs.length;
        if (distance < best.distance) best = { distance, a, b };
      }
    }
    if (best.distance > maxDistance && clusters.length <= maxClusters) break;
    const merged = [...clusters[best.a]!, ...clusters[best.b]!].sort((x, y) => x - y);
    clusters = [...clusters.filter((_, i) => i !== best.a && i !== best.b), merged];
  }
  return clusters.sort((x, y) => x[0]! - y[0]!);
}

test("clusters equal those of a slow search over all pairs", () => {
  const random = seededRandom(4);
  for (let round = 0; round < 200; round++) {
    const k = 1 + Math.floor(random.uniform() * 14);
    const distances = new Float64Array(k * k);
    for (let a = 0; a < k; a++) {
      for (let b = 0; b < a; b++) {
        distances[a * k + b] = random.uniform();
        distances[b * k + a] = distances[a * k + b]!;
      }
    }
    const [maxDistance, maxClusters] = [random.uniform(), 1 + Math.floor(random.uniform() * k)];
    const slow = slowClusters(distances, k, maxDistance, maxClusters);
    assert.deepEqual(clusterFeatures(distances.slice(), k, maxDistance, maxClusters), slow);
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
      assert.deepEqual(clusterFeatures(rankDistances(samples, k, together), k), [[0, 2], [1, 3], [4], [5]]);
    }
  }
});

test("rows of different samples are compared only if they are ranked together", () => {
  const random = seededRandom(6);
  // Both features are high in one sample and low in the other, and independent within each.
  const samples = [0, 100].map((level) => Float64Array.from({ length: 600 }, () => level + random.normal()));
  assert.equal(clusterFeatures(rankDistances(samples, 2, false), 2).length, 2);
  assert.equal(clusterFeatures(rankDistances(samples, 2, true), 2).length, 1);
});

test("a feature that a ticker lacks is compared over the rows of the others", () => {
  const random = seededRandom(7);
  const rows = Array.from({ length: 300 }, (_, i) => {
    const value = random.normal();
    return [value, i < 150 ? Number.NaN : value, random.normal()];
  });
  const samples = [rows.slice(0, 150), rows.slice(150)].map((part) => Float64Array.from(part.flat()));
  const [distance] = rankDistances(samples, 3, false).subarray(1);
  assert.ok(Math.abs(distance!) < 1e-12, `${distance}`);
});
