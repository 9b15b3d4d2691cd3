import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { isNear } from "./dated-rows.testing.ts";
import { cumulative, rollingMean, rollingRatio } from "./running-sums.ts";

const values = fc.array(fc.double({ min: -5, max: 5, noNaN: true }), { maxLength: 40 });

test("each running sum is the sum of all values so far", () => {
  const property = fc.property(values, (list) => {
    for (const [i, sum] of cumulative(Float64Array.from(list)).entries()) {
      assert.ok(
        isNear(
          sum,
          list.slice(0, i + 1).reduce((a, b) => a + b, 0),
        ),
      );
    }
  });
  fc.assert(property, { seed: 1 });
});

test("each rolling ratio is the ratio of its window's sums, NaN if the window is not full", () => {
  const property = fc.property(values, fc.integer({ min: 1, max: 9 }), (list, count) => {
    const weights = list.map((_, i) => 1 + (i % 3));
    const ratios = rollingRatio(Float64Array.from(list), Float64Array.from(weights), count);
    const means = rollingMean(Float64Array.from(list), count);
    for (const i of list.keys()) {
      const window = list.slice(i - count + 1, i + 1);
      assert.equal(Number.isNaN(ratios[i]!), i < count - 1);
      assert.equal(Number.isNaN(means[i]!), i < count - 1);
      if (i < count - 1) continue;
      const [above, below] = [window, weights.slice(i - count + 1, i + 1)].map((part) =>
        part.reduce((a, b) => a + b, 0),
      );
      assert.ok(isNear(ratios[i]!, above! / below!));
      assert.ok(isNear(means[i]!, above! / count));
    }
  });
  fc.assert(property, { seed: 2 });
});
