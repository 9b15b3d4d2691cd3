import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { RunningQuantile } from "./adaptive-intervals.ts";
import { conformalQuantile } from "./conformal.ts";

test("after each score, the quantile equals that of all sorted scores so far", () => {
  const score = fc.oneof(
    { weight: 9, arbitrary: fc.integer({ min: -9, max: 9 }) },
    { weight: 1, arbitrary: fc.constant(Number.POSITIVE_INFINITY) },
  );
  const alpha = fc.integer({ min: 1, max: 999 }).map((perMille) => perMille / 1000);
  const property = fc.property(fc.array(score, { maxLength: 120 }), alpha, (scores, at) => {
    const running = new RunningQuantile(at);
    assert.equal(running.quantile(), undefined);
    for (const [i, value] of scores.entries()) {
      running.add(value);
      assert.equal(running.quantile(), conformalQuantile(Float64Array.from(scores.slice(0, i + 1)), at));
    }
  });
  fc.assert(property, { seed: 1, numRuns: 500 });
});
