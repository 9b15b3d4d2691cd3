import assert from "node:assert/strict";
import { test } from "node:test";
import { seededRandom } from "../../test/twins/random.ts";
import {
  MIN_DATES,
  meanMethod,
  meanQuantile,
  NEWEY_WEST_LAG,
  neweyWestQuantile,
} from "../contract/output/test-quantile.ts";
import { meanError, neweyWestT } from "./mean-test.ts";
import { average, slowError, slowNeweyWestError } from "./statistics.testing.ts";

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
  assert.ok(Math.abs(meanError(x)! / slowError([...x]) - 1) < 1e-12);
  assert.equal(meanMethod(75), "ewc_8");
  assert.ok(Math.abs(meanQuantile(75, 0.975) - 2.306004135) < 1e-9);
});

test("the t is the mean divided by the error from all weighted pairs of days", () => {
  const random = seededRandom(11);
  let last = 0;
  const values = Float64Array.from({ length: 200 }, () => {
    last = 0.6 * last + random.normal();
    return last + 0.1;
  });
  const slow = average([...values]) / slowNeweyWestError([...values]);
  assert.ok(Math.abs(neweyWestT(values)! - slow) < 1e-9);
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
