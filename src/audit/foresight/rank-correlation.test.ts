import assert from "node:assert/strict";
import { test } from "node:test";
import { deviationsFromZero, neededDeviations, upperNormalQuantile } from "./rank-correlation.ts";

test("the upper quantile is scipy's, and more tests require more deviations", () => {
  // scipy.stats.norm.isf of scipy 1.x.
  for (const [p, z] of [
    [0.005, 2.575829303548901],
    [1e-4, 3.7190164854556804],
    [1e-10, 6.361340902404056],
    [1e-15, 7.941345326170997],
  ] as const)
    assert.ok(Math.abs(upperNormalQuantile(p) / z - 1) < 1e-12, String(upperNormalQuantile(p)));
  assert.ok(Math.abs(neededDeviations(1) - 2.8070338) < 1e-6);
  for (let m = 1; m < 1e12; m *= 10) assert.ok(neededDeviations(10 * m) > neededDeviations(m));
});

test("deviations grow with |c| and n, and are finite at 1", () => {
  assert.equal(deviationsFromZero({ c: 0, n: 100 }), 0);
  assert.ok(Math.abs(deviationsFromZero({ c: -0.5, n: 103 }) - 5.493061) < 1e-6);
  assert.ok(Number.isFinite(deviationsFromZero({ c: 1, n: 103 })));
});
