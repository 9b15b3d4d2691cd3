import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { rank, relativeToMean } from "./feature-set.ts";

const section = fc
  .array(
    fc.oneof(
      fc.integer({ min: -3, max: 3 }),
      fc.double({ min: -1, max: 1, noNaN: true }),
      fc.constant(Number.NaN),
    ),
    {
      minLength: 1,
      maxLength: 20,
    },
  )
  .map((values) => Float64Array.from(values));

function near(actual: Float64Array, expected: number[]): void {
  assert.equal(actual.length, expected.length);
  expected.forEach((value, i) => {
    assert.ok(
      Object.is(actual[i], value) || Math.abs(actual[i]! - value) < 1e-12,
      `${actual} is not ${expected}`,
    );
  });
}

test("the distance to the mean counts only the tickers that have a value", () => {
  near(relativeToMean(Float64Array.of(1, Number.NaN, 3)), [-1, Number.NaN, 1]);
  near(relativeToMean(Float64Array.of(7)), [0]);
  near(relativeToMean(Float64Array.of(Number.NaN)), [Number.NaN]);
});

test("ranks lie between 0 and 1 with ties averaged", () => {
  near(rank(Float64Array.of(5, 1, Number.NaN, 5, 9)), [0.5, 0.125, Number.NaN, 0.5, 0.875]);
  near(rank(Float64Array.of(7)), [0.5]);
  near(rank(Float64Array.of(-0, 0)), [0.5, 0.5]);
});

test("a rank equals its slow twin: half a rank for itself and each tie, a whole one for each smaller value", () => {
  fc.assert(
    fc.property(section, (values) => {
      const present = [...values].filter((value) => !Number.isNaN(value));
      const twin = [...values].map((value) => {
        if (Number.isNaN(value)) return Number.NaN;
        const below = present.filter((other) => other < value).length;
        const ties = present.filter((other) => other === value).length;
        return (below + ties / 2) / present.length;
      });
      near(rank(values), twin);
    }),
  );
});

test("values relative to the mean have a mean of zero", () => {
  fc.assert(
    fc.property(section, (values) => {
      const sum = relativeToMean(values).reduce(
        (total, value) => total + (Number.isNaN(value) ? 0 : value),
        0,
      );
      return Math.abs(sum) < 1e-9;
    }),
  );
});
