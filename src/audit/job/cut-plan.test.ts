import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { planCuts } from "./cut-plan.ts";

const DATES = Int32Array.from({ length: 40 }, (_, i) => 100 + 2 * i);

test("cuts spread over the dates after the blobs' own cut, without the last", () => {
  const plan = planCuts(DATES, 139, 3);
  assert.deepEqual(plan, { learningEnd: 139, isChosen: false, cutAfter: [148, 158, 168] });
});

test("without a cut, or with none before the last date, the audit takes one that leaves a quarter to forecast", () => {
  const chosen = { learningEnd: DATES[29], isChosen: true };
  for (const learningEnd of [undefined, DATES.at(-1)!, DATES.at(-2)!, 1000]) {
    const plan = planCuts(DATES, learningEnd, 2)!;
    assert.deepEqual({ ...plan, cutAfter: undefined }, { ...chosen, cutAfter: undefined });
    assert.equal(plan.cutAfter.length, 2);
  }
});

test("too few dates give no plan", () => {
  for (const n of [0, 1, 2]) assert.equal(planCuts(DATES.subarray(0, n), undefined, 5), undefined);
});

test("whatever the dates, the cuts ascend between the cut and the last date, and are as many as there is room for", () => {
  const dates = fc.uniqueArray(fc.integer({ min: 0, max: 500 }), { minLength: 1, maxLength: 60 });
  fc.assert(
    fc.property(
      dates,
      fc.option(fc.integer({ min: 0, max: 500 })),
      fc.integer({ min: 1, max: 80 }),
      (days, cut, k) => {
        const sorted = Int32Array.from(days).sort();
        const plan = planCuts(sorted, cut ?? undefined, k);
        if (plan === undefined) return;
        const room = sorted.filter((day, i) => day > plan.learningEnd && i < sorted.length - 1);
        assert.equal(plan.cutAfter.length, Math.min(k, room.length));
        assert.ok(
          plan.cutAfter.every((day, i) => room.includes(day) && (i === 0 || day > plan.cutAfter[i - 1]!)),
        );
      },
    ),
  );
});
