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

test("the density between minus infinity and a quantile sums to its probability", () => {
  for (const freedom of [4, 5, 29, 30, 100]) {
    const [low, high, steps] = [0, studentQuantile(freedom, 0.95), 20_000];
    const density = (t: number) => (1 + (t * t) / freedom) ** (-(freedom + 1) / 2);
    const area = (to: number) => {
      let sum = 0;
      for (let i = 0; i < steps; i++) sum += density(low + ((i + 0.5) * to) / steps);
      return (sum * to) / steps;
    };
    // The normalising constant is the same integral over a range beyond which nothing is left.
    assert.ok(Math.abs(area(high) / area(400) - 0.9) < 1e-5, String(freedom));
  }
});
