import assert from "node:assert/strict";
import { test } from "node:test";
import { zeroedByShrinkage } from "./zeroed-forecasts.ts";

const POOLED = { n: 40, b: 0.4, se: 0.1, s: 0.3 };
const MU = { AAA: 0, BBB: 0 };
const APPLIED = { AAA: 0, BBB: 0 };

test("a sentence gives the slope that was not above its error", () => {
  const by_date = { n: 40, b: -0.123, se: 0.456, s: 0 };
  assert.equal(
    zeroedByShrinkage(MU, { pooled: POOLED, by_date, applied: APPLIED }),
    "Shrinkage multiplied all forecasts by 0 because the held-out forecasts do not show that returns follow them: the slope of returns on forecasts is -0.12, not above its standard error of 0.46.",
  );
});

test("it says why if there is no such slope", () => {
  const because = (pooled: typeof POOLED | { n: number; b: null; se: null; s: number }, by_date = pooled) =>
    zeroedByShrinkage(MU, { pooled, by_date, applied: APPLIED })!.replace(/^.* because /, "");
  assert.equal(
    because({ n: 0, b: null, se: null, s: 0 }),
    "there are no held-out forecasts to judge them by.",
  );
  assert.equal(because({ n: 9, b: null, se: null, s: 0 }), "the held-out forecasts are all 0.");
  assert.match(because(POOLED), /: no ticker's slope of returns on forecasts is above its standard error\.$/);
  assert.match(
    zeroedByShrinkage(MU, { pooled: POOLED, applied: APPLIED })!,
    /do not show that returns follow them\.$/,
  );
});

test("nothing is said without shrinkage, without a ticker, or if a forecast or a factor is not 0", () => {
  const shrinkage = { pooled: POOLED, applied: APPLIED };
  assert.equal(zeroedByShrinkage(MU, { pooled: POOLED }), undefined);
  assert.equal(zeroedByShrinkage(MU, undefined), undefined);
  assert.equal(zeroedByShrinkage({}, shrinkage), undefined);
  assert.equal(zeroedByShrinkage({ AAA: 0, BBB: 0.01 }, shrinkage), undefined);
  assert.equal(zeroedByShrinkage(MU, { pooled: POOLED, applied: { AAA: 0, BBB: 0.5 } }), undefined);
});
