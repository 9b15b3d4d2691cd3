import assert from "node:assert/strict";
import { test } from "node:test";
import { studentQuantile } from "./test-quantile.ts";

test("quantiles of Student's t agree with those of scipy", () => {
  const expected: readonly (readonly [number, number, number])[] = [
    [1, 0.95, 6.313751514675],
    [2, 0.975, 4.302652729749],
    [3, 0.99, 4.540702858568],
    [8, 0.95, 1.859548037531],
    [8, 0.975, 2.306004135204],
    [8, 0.99, 2.89645944771],
    [244, 0.95, 1.65112250479],
    [995, 0.95, 1.646386488741],
  ];
  for (const [freedom, probability, value] of expected) {
    const found = studentQuantile(freedom, probability);
    assert.ok(Math.abs(found - value) < 1e-9, `${freedom}, ${probability}: ${found}`);
  }
});
