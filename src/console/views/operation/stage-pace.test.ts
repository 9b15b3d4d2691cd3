import assert from "node:assert/strict";
import { test } from "node:test";
import { StagePace } from "./stage-pace.ts";

const fit = (done: number, total: number | null = 100) => ({ stage: "fit", done, total });

test("the rest of a stage takes as long per unit as what was done since its first unit", () => {
  const pace = new StagePace();
  pace.add(fit(0), 0);
  assert.equal(pace.remaining(fit(0)), undefined);
  pace.add(fit(10), 60_000);
  assert.equal(pace.remaining(fit(10)), undefined, "the minute before the first unit does not count");
  pace.add(fit(13), 63_000);
  assert.equal(pace.remaining(fit(13)), undefined, "too few units");
  pace.add(fit(20), 70_000);
  assert.equal(pace.remaining(fit(20)), 80_000);
  assert.equal(pace.remaining({ stage: "evaluate" }), undefined);
  pace.add(fit(100), 150_000);
  assert.equal(pace.remaining(fit(100)), undefined, "nothing is left");
});

test("another stage and another attempt begin anew, and a stage without a total has no end", () => {
  const pace = new StagePace();
  pace.add(fit(1), 0);
  pace.add(fit(50), 1_000);
  pace.add({ stage: "evaluate", done: 1, total: 9 }, 2_000);
  assert.equal(pace.remaining({ stage: "evaluate" }), undefined);
  pace.add({ stage: "evaluate", done: 5, total: 9 }, 6_000);
  assert.equal(pace.remaining({ stage: "evaluate" }), 4_000);
  pace.add(fit(1), 10_000);
  pace.add(fit(51), 20_000);
  pace.add(fit(0), 30_000);
  pace.add(fit(2), 40_000);
  assert.equal(pace.remaining(fit(2)), undefined, "of the second attempt");
  pace.add(fit(12), 50_000);
  assert.equal(pace.remaining(fit(12)), 88_000);
  pace.add(fit(20, null), 60_000);
  assert.equal(pace.remaining(fit(20)), undefined);
});
