import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { neweyWestError } from "../newey-west.ts";
import { mean } from "../statistics.ts";
import { noise } from "./choice.testing.ts";
import { SeriesSums } from "./series-sums.ts";

/** What sums over the values must agree with, in several passes. */
function plain(values: Float64Array) {
  const known = values.filter((value) => !Number.isNaN(value));
  return {
    mean: known.length === 0 ? Number.NaN : mean(known),
    error: neweyWestError(known) ?? 0,
    dates: known.length,
  };
}

/** Relative to the deviation of the values. */
const TOLERANCE = 1e-12;

test("the mean and the error of each beginning of a series agree with plain ones", () => {
  const cases = fc.record({
    seed: fc.nat(),
    length: fc.nat(60),
    centre: fc.double({ min: -3, max: 3, noNaN: true }),
    absent: fc.nat(3),
  });
  fc.assert(
    fc.property(cases, ({ seed, length, centre, absent }) => {
      const next = noise(seed + 1);
      const values = Float64Array.from({ length }, (_, i) =>
        absent > 0 && (i + absent) % 4 === 0 ? Number.NaN : centre + next(),
      );
      const sums = new SeriesSums(2);
      for (const [i, value] of values.entries()) {
        sums.add(1, value);
        const [actual, expected] = [sums.difference(1), plain(values.subarray(0, i + 1))];
        assert.equal(actual.dates, expected.dates);
        assert.equal(Number.isNaN(actual.mean), Number.isNaN(expected.mean));
        assert.ok(!(Math.abs(actual.mean - expected.mean) > TOLERANCE));
        // An error near 0 is the root of a difference of rounding.
        assert.ok(Math.abs(actual.error ** 2 - expected.error ** 2) < TOLERANCE);
      }
      assert.equal(sums.seen(1), length);
      assert.equal(sums.seen(0), 0);
    }),
  );
});

test("equal values have no error, whatever their size", () => {
  const sums = new SeriesSums(1);
  for (let i = 0; i < 40; i++) sums.add(0, 1e9 / 3);
  assert.deepEqual(sums.difference(0), { mean: 1e9 / 3, error: 0, dates: 40 });
  sums.clear(0);
  assert.deepEqual([sums.seen(0), sums.difference(0).dates], [0, 0]);
});

test("a long series with a large mean keeps its digits", () => {
  const next = noise(5);
  const values = Float64Array.from({ length: 20_000 }, () => 100 + next());
  const sums = new SeriesSums(1);
  for (const value of values) sums.add(0, value);
  const [actual, expected] = [sums.difference(0), plain(values)];
  assert.ok(Math.abs(actual.mean - expected.mean) < TOLERANCE * 100);
  assert.ok(Math.abs(actual.error / expected.error - 1) < TOLERANCE);
});
