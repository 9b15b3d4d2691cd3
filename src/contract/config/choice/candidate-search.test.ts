import assert from "node:assert/strict";
import { test } from "node:test";
import { drawnPoints, gridPoints, gridSize } from "./candidates.ts";

const texts = (points: Iterable<ReadonlyMap<string, unknown>>) =>
  [...points].map((point) => JSON.stringify(Object.fromEntries(point)));

test("a grid has every combination, and its last parameter changes fastest", () => {
  const grid = { a: [1, 2], b: ["x", "y", "z"] };
  assert.deepEqual(
    [...gridPoints(grid)].map((point) => [...point.values()].join("")),
    ["1x", "1y", "1z", "2x", "2y", "2z"],
  );
  assert.equal(gridSize(grid), 6);
});

test("draws stay in their ranges, as the numbers that the libraries expect", () => {
  const specs = {
    learning_rate: { log: [0.01, 0.1] },
    subsample: { uniform: [0, 1] },
    num_leaves: { int: [2, 4] },
  } as const;
  const points = [...drawnPoints(100, specs as never, 42, 0)].map((point) => ({
    rate: point.get("learning_rate") as { rawJSON: string },
    part: point.get("subsample") as { rawJSON: string },
    leaves: point.get("num_leaves") as { rawJSON: string },
  }));
  for (const { rate, part, leaves } of points) {
    assert.ok(Number(rate.rawJSON) >= 0.01 && Number(rate.rawJSON) <= 0.1);
    assert.match(part.rawJSON, /[.e]/);
    assert.match(leaves.rawJSON, /^[234]$/);
  }
  assert.deepEqual(new Set(points.map(({ leaves }) => leaves.rawJSON)), new Set(["2", "3", "4"]));
  const middle = points.filter(({ rate }) => Number(rate.rawJSON) < Math.sqrt(0.001)).length;
  assert.ok(middle > 30 && middle < 70, `${middle} of 100 draws below the geometric middle`);
});

test("draws depend on the seed and on the place of their candidate alone", () => {
  const specs = { alpha: { log: [1, 100] } } as never;
  const drawn = (count: number, seed: number, stream: number) =>
    texts(drawnPoints(count, specs, seed, stream));
  assert.deepEqual(drawn(3, 42, 1), drawn(5, 42, 1).slice(0, 3));
  assert.notDeepEqual(drawn(3, 42, 1), drawn(3, 42, 2));
  assert.notDeepEqual(drawn(3, 42, 1), drawn(3, 43, 1));
  assert.deepEqual(
    drawn(2, 42, 0),
    ['{"alpha":97.88}', '{"alpha":1.01}'],
    "the draws of published configs stay",
  );
});

test("draws do not repeat, and end when there are no more", () => {
  const few = { leaves: { int: [2, 4] }, depth: { int: [1, 2] } } as never;
  const drawn = texts(drawnPoints(6, few, 42, 0));
  assert.equal(new Set(drawn).size, 6);
  assert.deepEqual(texts(drawnPoints(7, few, 42, 0)), drawn);
  assert.equal(texts(drawnPoints(100, { leaves: { int: [1, 100] } } as never, 42, 0)).length, 100);
  assert.equal(texts(drawnPoints(5, { rate: { uniform: [1, 1.00001] } } as never, 42, 0)).length, 1);
});

test("a search with very many parameters that hardly vary stops drawing early", () => {
  let values = 0;
  const spec = {
    get uniform() {
      values++;
      return [1, 1.00001];
    },
  };
  const specs = Object.fromEntries(Array.from({ length: 500 }, (_, i) => [`p${i}`, spec]));
  assert.equal(texts(drawnPoints(99, specs as never, 42, 0)).length, 1);
  assert.ok(values <= 99 * 2_000, `${values} values`);
  const varied = { ...specs, leaves: { int: [1, 1_000] } } as never;
  assert.equal(texts(drawnPoints(99, varied, 42, 0)).length, 99);
});
