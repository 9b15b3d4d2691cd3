import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { ascending, type RandomPanel, randomPanels } from "./panels.testing.ts";
import { type PooledPlan, planPooled } from "./pooled-plan.ts";

const CUT = 80;
const settings = fc.record({
  cv_test_size: fc.integer({ min: 1, max: 9 }),
  n_splits: fc.integer({ min: 1, max: 6 }),
});
const planned = fc.integer({ min: 0, max: 5 }).chain((delay) =>
  fc.tuple(
    randomPanels(90, CUT, delay),
    settings.map((own) => ({ ...own, delay })),
  ),
);

interface Row {
  readonly panel: RandomPanel;
  readonly row: number;
  readonly day: number;
  readonly known: number;
}

/** The rows of the matrix, by a sort of all rows. */
function slowRows(panels: readonly RandomPanel[], part: "fit" | "score"): Row[] {
  const rows = ascending(panels).flatMap((panel) =>
    [...panel[part]].map((row) => ({
      panel,
      row,
      day: panel.days[row]!,
      known: part === "fit" ? panel.labelDays[row]! : panel.days[row]!,
    })),
  );
  return rows.sort((a, b) => a.known - b.known || a.day - b.day);
}

function distinctDates(rows: readonly Row[]): number[] {
  return [...new Set(rows.map(({ day }) => day))].sort((a, b) => a - b);
}

test("folds test blocks of the last dates, and train on a prefix that knows no later label", () => {
  const property = fc.property(planned, ([panels, options]) => {
    const { cv_test_size, n_splits, delay } = options;
    const plan: PooledPlan<RandomPanel> = planPooled(panels, options);
    const fit = slowRows(panels, "fit");
    const dates = distinctDates(fit);
    const k = Math.max(0, Math.min(n_splits, Math.floor((dates.length - 30 - delay) / cv_test_size)));
    assert.equal(plan.folds.length, k);
    for (const [j, { from, trainEnd, testEnd }] of plan.folds.entries()) {
      assert.equal(from, dates[dates.length - (k - j) * cv_test_size]);
      assert.ok(fit.slice(0, trainEnd).every(({ known }) => known <= from));
      assert.ok(fit.slice(trainEnd).every(({ known }) => known > from));
      const next = plan.folds[j + 1]?.from ?? Number.POSITIVE_INFINITY;
      const knownBy = dates[dates.indexOf(next) + delay] ?? Number.POSITIVE_INFINITY;
      if (next !== Number.POSITIVE_INFINITY && delay === 0) assert.equal(knownBy, next);
      const limit = next === Number.POSITIVE_INFINITY ? next : knownBy;
      for (const { panel, places, folds } of plan.members) {
        const own = fit.slice(0, trainEnd).filter((row) => row.panel.ticker === panel.ticker).length;
        const tested = fit
          .filter(
            ({ panel: of, day, known }) =>
              of.ticker === panel.ticker && day >= from && day < next && known <= limit,
          )
          .map(({ row }) => row);
        const fold = folds.find((candidate) => candidate.fold === j);
        assert.equal(fold !== undefined, own >= 30 && tested.length > 0);
        if (fold === undefined) continue;
        assert.equal(fold.trainEnd, own);
        assert.deepEqual([...panel.fit.subarray(fold.testStart, fold.testEnd)], tested);
        const predicted = places.subarray(fold.testStart, fold.testEnd);
        assert.ok(predicted.every((place) => place >= trainEnd && place < testEnd));
      }
    }
  });
  fc.assert(property, { seed: 6, numRuns: 120 });
});
