import assert from "node:assert/strict";
import { test } from "node:test";
import { seededRandom } from "../../test/twins/random.ts";
import { shrinkage } from "./shrinkage.ts";

const random = seededRandom(4);
const draws = (n: number, scale = 1) => Float64Array.from({ length: n }, () => scale * random.normal());

test("the slope, its robust error and the share are those of their formulas", () => {
  const p = draws(300, 0.01);
  const y = p.map((value) => 0.6 * value + 0.02 * random.normal());
  const sum = (term: (i: number) => number) => Array.from(p, (_, i) => term(i)).reduce((a, b) => a + b);
  const pp = sum((i) => p[i]! ** 2);
  const b = sum((i) => y[i]! * p[i]!) / pp;
  const se = Math.sqrt(sum((i) => p[i]! ** 2 * (y[i]! - b * p[i]!) ** 2)) / pp;
  const found = shrinkage(y, p);
  assert.equal(found.n, 300);
  assert.ok(Math.abs(found.b! - b) < 1e-12 && Math.abs(found.se! - se) < 1e-12);
  assert.ok(Math.abs(found.s - Math.max(0, Math.min(1, b - se))) < 1e-12);
});

test("forecasts that are too small are not enlarged, and those of the wrong sign count for nothing", () => {
  const y = draws(50);
  assert.equal(
    shrinkage(
      y,
      y.map((value) => value / 9),
    ).s,
    1,
  );
  assert.equal(
    shrinkage(
      y,
      y.map((value) => -value),
    ).s,
    0,
  );
});

test("forecasts of 0, and no rows, are worth nothing", () => {
  assert.deepEqual(shrinkage(draws(5), new Float64Array(5)), { n: 5, b: null, se: null, s: 0 });
  assert.deepEqual(shrinkage(new Float64Array(0), new Float64Array(0)), { n: 0, b: null, se: null, s: 0 });
});

test("the share does not depend on the unit of the returns, however small or large", () => {
  const p = draws(80);
  const y = p.map((value) => 0.5 * value + 0.4 * random.normal());
  const { s } = shrinkage(y, p);
  assert.ok(s > 0.2 && s < 0.8);
  for (const factor of [2 ** -600, 2 ** -500, 2 ** 400]) {
    const scaled = (values: Float64Array) => values.map((value) => value * factor);
    assert.ok(Math.abs(shrinkage(scaled(y), scaled(p)).s - s) < 1e-12, String(factor));
  }
});
