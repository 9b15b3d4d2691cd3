import assert from "node:assert/strict";
import { test } from "node:test";
import { courseFan, quantileOf } from "./course-fan.ts";

test("a fan has the quantiles of the epochs that at least half of the courses have reached", () => {
  const courses = [
    [1, 4, 7, 9],
    [2, 5, 8],
    [3, 6],
  ].map((course) => Float64Array.from(course));
  const { low, lowerQuarter, median, upperQuarter, high } = courseFan(courses);
  assert.deepEqual([...median], [2, 5, 7.5]);
  assert.deepEqual([lowerQuarter[0], upperQuarter[0]], [1.5, 2.5]);
  assert.ok(Math.abs(low[0]! - 1.1) < 1e-12 && Math.abs(high[0]! - 2.9) < 1e-12);
});

test("what is not finite is left out", () => {
  const { median } = courseFan([
    Float64Array.of(1, Number.NaN),
    Float64Array.of(3, Number.POSITIVE_INFINITY),
  ]);
  assert.deepEqual([...median], [2, Number.NaN]);
  assert.deepEqual(courseFan([]).median.length, 0);
  assert.equal(quantileOf(new Float64Array(0), 0.5), Number.NaN);
});
