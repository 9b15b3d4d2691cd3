import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { isNear } from "./dated-rows.testing.ts";
import { cumulative, rollingMean, rollingRatio } from "./running-sums.ts";

const sumOf = (values: readonly number[]) => values.reduce((a, b) => a + b, 0);

test("running sums and rolling ratios are those of all values so far, and of full windows", () => {
  const values = fc.array(fc.double({ min: -5, max: 5, noNaN: true }), { maxLength: 40 });
  const property = fc.property(values, fc.integer({ min: 1, max: 9 }), (list, count) => {
    const weights = list.map((_, i) => 1 + (i % 3));
    const [own, by] = [Float64Array.from(list), Float64Array.from(weights)];
    const [sums, ratios, means] = [cumulative(own), rollingRatio(own, by, count), rollingMean(own, count)];
    for (const i of list.keys()) {
      assert.ok(isNear(sums[i]!, sumOf(list.slice(0, i + 1))));
      assert.deepEqual([ratios[i]!, means[i]!].map(Number.isNaN), Array(2).fill(i < count - 1));
      if (i < count - 1) continue;
      const [above, below] = [list, weights].map((part) => sumOf(part.slice(i - count + 1, i + 1)));
      assert.ok(isNear(ratios[i]!, above! / below!) && isNear(means[i]!, above! / count));
    }
  });
  fc.assert(property, { seed: 1 });
});
