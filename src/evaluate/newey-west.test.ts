import assert from "node:assert/strict";
import { test } from "node:test";
import { seededRandom } from "../../test/twins/random.ts";
import { MIN_DATES, NEWEY_WEST_LAG, neweyWestQuantile } from "../contract/output/test-quantile.ts";
import { neweyWestT } from "./mean-test.ts";

test("the t is the mean divided by the error from all weighted pairs of days", () => {
  const random = seededRandom(11);
  let last = 0;
  const values = Float64Array.from({ length: 200 }, () => {
    last = 0.6 * last + random.normal();
    return last + 0.1;
  });
  const n = values.length;
  const mean = values.reduce((a, b) => a + b) / n;
  let variance = 0;
  for (let i = 0; i < n; i++) {
    for (let j = 0; j < n; j++) {
      const weight = Math.max(0, 1 - Math.abs(i - j) / (NEWEY_WEST_LAG + 1));
      variance += (weight * (values[i]! - mean) * (values[j]! - mean)) / n ** 2;
    }
  }
  assert.ok(Math.abs(neweyWestT(values)! - mean / Math.sqrt(variance)) < 1e-9);
});

test("a t equals that of the plain error if values do not correlate, and is lower if they do", () => {
  const random = seededRandom(3);
  const independent = Float64Array.from({ length: 20_000 }, () => random.normal() + 0.05);
  const plain = (values: Float64Array) => {
    const mean = values.reduce((a, b) => a + b) / values.length;
    const square = values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / values.length;
    return mean / Math.sqrt(square / values.length);
  };
  assert.ok(Math.abs(neweyWestT(independent)! / plain(independent) - 1) < 0.05);
  const slow = independent.map((_, i) => independent[i - (i % 5)]!);
  assert.ok(neweyWestT(slow)! < 0.7 * plain(slow));
});

test("no value, one value, and equal values have no t", () => {
  assert.equal(neweyWestT(new Float64Array(0)), null);
  assert.equal(neweyWestT(Float64Array.of(1)), null);
  assert.equal(neweyWestT(Float64Array.of(2, 2, 2)), null);
});

test("chance exceeds a quantile as often as its probability says, however few the values", () => {
  const random = seededRandom(5);
  const draws = 4_000;
  for (const n of [NEWEY_WEST_LAG + 1, 15, MIN_DATES, 120]) {
    const ts = Array.from(
      { length: draws },
      () => neweyWestT(Float64Array.from({ length: n }, () => random.normal()))!,
    );
    for (const [probability, normal] of NORMAL_QUANTILES) {
      const share = ts.filter((t) => t >= neweyWestQuantile(n, probability)).length / draws;
      const asked = 1 - probability;
      // Three binomial standard errors plus a tenth, because the source's cubic is rounded.
      const slack = 3 * Math.sqrt(asked / draws) + 0.1 * asked;
      assert.ok(Math.abs(share - asked) < slack, `${share} of ${asked} over ${n}`);
      assert.ok(Math.abs(neweyWestQuantile(1e9, probability) - normal) < 1e-4);
    }
  }
});

const NORMAL_QUANTILES = [
  [0.95, 1.644854],
  [0.975, 1.959964],
  [0.99, 2.326348],
] as const;
