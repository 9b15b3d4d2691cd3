import assert from "node:assert/strict";
import { test } from "node:test";
import { meanMethod, meanQuantile, neweyWestQuantile } from "../contract/output/test-quantile.ts";
import { meanError, meanT, neweyWestError } from "./mean-test.ts";

/** Pseudo-random numbers in [-0.5, 0.5), the same every time. */
function noise(n: number, seed: number): Float64Array {
  let state = seed;
  return Float64Array.from({ length: n }, () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32 - 0.5;
  });
}

test("from 60 values on, the error is the mean of eight squared cosine sums", () => {
  const x = noise(75, 3);
  let omega = 0;
  for (const j of [1, 2, 3, 4, 5, 6, 7, 8]) {
    const terms = Array.from(x, (value, i) => value * Math.cos((Math.PI * j * (i + 1 - 0.5)) / 75));
    omega += (Math.sqrt(2 / 75) * terms.reduce((a, b) => a + b)) ** 2 / 8;
  }
  assert.ok(Math.abs(meanError(x)! / Math.sqrt(omega / 75) - 1) < 1e-12);
  assert.equal(meanMethod(75), "ewc_8");
  assert.ok(Math.abs(meanQuantile(75, 0.975) - 2.306004135) < 1e-9);
});

test("with fewer values, the error is that of Newey and West", () => {
  const x = noise(59, 4);
  assert.equal(meanError(x), neweyWestError(x));
  assert.equal(meanQuantile(59), neweyWestQuantile(59));
  assert.equal(meanMethod(59), "newey_west_5");
});

test("equal values have no error and no t", () => {
  assert.equal(meanError(new Float64Array(100).fill(0.5)), null);
  assert.equal(meanT(new Float64Array(100).fill(0.5)), null);
});

test("independent values exceed the quantile about once in twenty times", () => {
  let exceeded = 0;
  for (let i = 0; i < 2_000; i++) if (meanT(noise(120, 17 + 7_919 * i))! >= meanQuantile(120)) exceeded++;
  assert.ok(exceeded > 60 && exceeded < 140, `${exceeded} of 2000`);
});
