import assert from "node:assert/strict";
import { test } from "node:test";
import { smallFactorOf } from "./small-factor.ts";

const MU = { AAA: 1e-5, BBB: -1e-5 };
const POOLED = { n: 40, b: 0.4, se: 0.1, s: 0.3 };

function sentences(factor: number, more: object = {}, state = "evidence", figure: number | null = 0.0284) {
  const order = { state, form: "cross_section", figure, t: 4.06, quantile: 1.86 };
  const by_date = { n: 40, b: 0.021, se: 0.014 };
  const applied = { AAA: factor, BBB: factor };
  return saidOf({
    metrics: { shrinkage: { pooled: POOLED, by_date, applied, ...more } },
    verdict: { judged: [{ rows: "out_of_fold", order }] },
  });
}

/** @param output its members that the sentences depend on. */
function saidOf(output: object) {
  return smallFactorOf({ mu: MU, ...output } as never);
}

test("a small factor comes with the IC before shrinkage and the next step", () => {
  assert.equal(
    sentences(0.0312),
    "Shrinkage multiplies the forecasts by 0.031, because the slope of returns on held-out forecasts is 0.02 with a standard error of 0.01. Before shrinkage, the mean IC on the out-of-fold rows is 0.0284 (90% band 0.0154 to 0.0414). Rank by mu; to size positions by the model's own forecasts, set shrinkage to none.",
  );
  assert.match(sentences(0)!, /by 0, because .* Rank by unshrunk forecasts;/);
  assert.match(sentences(0.01, { applied: { AAA: 0.02, BBB: 0 } })!, /by at most 0\.02,/);
});

test("without evidence of an order it does not say to rank", () => {
  assert.match(
    sentences(0.01, {}, "none")!,
    /is 0\.0284 \(90% band .*\), which is no evidence of an order either\.$/,
  );
  assert.match(sentences(0.01, {}, "worse", -0.0284)!, /is -0\.0284 \(.*\), which is worse than chance\.$/);
  assert.match(sentences(0.01, {}, "none", null)!, /standard error of 0\.01\.$/);
});

test("nothing is said without shrinkage, without a ticker, or if a factor is not small", () => {
  const shrinkage = { pooled: POOLED, applied: { AAA: 0, BBB: 0 } };
  assert.equal(saidOf({ metrics: { shrinkage: { pooled: POOLED } } }), undefined);
  assert.equal(saidOf({ metrics: {} }), undefined);
  assert.equal(saidOf({ mu: {}, metrics: { shrinkage } }), undefined);
  assert.equal(sentences(0.05), undefined);
  assert.equal(sentences(0, { applied: { AAA: 0, BBB: 0.5 } }), undefined);
});
