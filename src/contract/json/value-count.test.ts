import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { hasMoreValues } from "./value-count.ts";

function countOf(value: unknown): number {
  if (typeof value !== "object" || value === null) return 1;
  return Object.values(value).reduce<number>((sum, part) => sum + countOf(part), 1);
}

test("counts leaves, arrays and objects as values", () => {
  fc.assert(
    fc.property(fc.json(), fc.nat(30), (text, most) => {
      const value: unknown = JSON.parse(text);
      assert.equal(hasMoreValues(value, most), countOf(value) > most);
    }),
    { seed: 1, numRuns: 500 },
  );
});

test("counts nested values at any depth", () => {
  let deep: unknown = [];
  for (let depth = 1; depth < 100_000; depth++) deep = [deep];
  assert.deepEqual([hasMoreValues(deep, 99_999), hasMoreValues(deep, 100_000)], [true, false]);
});
