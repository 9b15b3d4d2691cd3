import assert from "node:assert/strict";
import { test } from "node:test";
import { seededRandom } from "../../../test/twins/random.ts";
import { stationaryResamples } from "./block-bootstrap.ts";
import { average } from "./dated-rows.testing.ts";
import { modelConfidenceSet } from "./model-confidence-set.ts";
import { superiorAbility } from "./superior-ability.ts";

function losses(seed: number, edges: readonly number[], dates: number): Float64Array[] {
  const random = seededRandom(seed);
  const common = Array.from({ length: dates }, () => random.normal());
  return edges.map((edge) => Float64Array.from(common, (shared) => shared + random.normal() + edge));
}

/** The set by its definition, with lists of all differences. */
function slowSet(models: readonly Float64Array[], draws: readonly number[][]): number[] {
  const difference = (a: number, b: number, dates: Iterable<number>) =>
    average(Array.from(dates, (date) => models[a]![date]! - models[b]![date]!));
  const all = [...models[0]!.keys()];
  const variance = (a: number, b: number) =>
    average(draws.map((draw) => (difference(a, b, draw) - difference(a, b, all)) ** 2));
  const p: number[] = models.map(() => 1);
  let left = [...models.keys()];
  for (let before = 0; left.length > 1; ) {
    const pairs = left.flatMap((a) =>
      left.filter((b) => b !== a).map((b) => ({ a, b, root: Math.sqrt(variance(a, b)) })),
    );
    const worst = pairs
      .map(({ a, b, root }) => ({ a, t: difference(a, b, all) / root }))
      .reduce((x, y) => (y.t > x.t ? y : x));
    const larger = draws.filter((draw) =>
      pairs.some(({ a, b, root }) => (difference(a, b, draw) - difference(a, b, all)) / root > worst.t),
    );
    before = Math.max(before, larger.length / draws.length);
    p[worst.a] = before;
    left = left.filter((k) => k !== worst.a);
  }
  return p;
}

test("the confidence set follows its definition", () => {
  for (let seed = 1; seed <= 5; seed++) {
    const models = losses(seed, [0, 0.1, 0.4, 0], 40);
    const resamples = stationaryResamples(40, 40);
    const draws = Array.from(resamples, (drawn) => [...drawn]);
    assert.deepEqual(modelConfidenceSet(models, resamples), slowSet(models, draws));
  }
});

test("the set keeps the best model, and excludes one that is far worse", () => {
  const resamples = stationaryResamples(250, 200);
  let [lost, kept] = [0, 0];
  for (let seed = 1; seed <= 100; seed++) {
    const p = modelConfidenceSet(losses(seed, [0, 0, 0, 0.8], 250), resamples);
    if (p[0]! <= 0.05) lost++;
    if (p[3]! > 0.05) kept++;
  }
  assert.ok(lost <= 8, `${lost} of 100 lack a best model`);
  assert.equal(kept, 0);
});

test("models that are equal stay together", () => {
  const [first, second] = losses(1, [0, 3], 60);
  const resamples = stationaryResamples(60, 100);
  assert.deepEqual(modelConfidenceSet([first!, first!, second!, second!], resamples), [1, 1, 0, 0]);
  assert.deepEqual(modelConfidenceSet([first!], resamples), [1]);
  assert.deepEqual(modelConfidenceSet([], resamples), []);
});

test("a benchmark that one of eight beats is recognised as beaten, and one that none beats is not", () => {
  const resamples = stationaryResamples(250, 200);
  const without = Array.from(
    { length: 60 },
    (_, seed) => superiorAbility(losses(seed, new Array(8).fill(0), 250), resamples)!,
  );
  const beaten = without.filter(({ p }) => p <= 0.05).length;
  assert.ok(beaten <= 9, `${beaten} of 60`);
  assert.ok(without.every(({ lower, p, upper }) => lower <= p && p <= upper));
  const edges = [0, 0, 0, 0.5, 0, 0, 0, -2];
  const found = superiorAbility(losses(1, edges, 250), resamples)!;
  assert.deepEqual([found.best, found.p < 0.01], [3, true]);
  assert.equal(superiorAbility([new Float64Array(60), new Float64Array(60).fill(1)], resamples), undefined);
  assert.equal(superiorAbility([], resamples), undefined);
});
