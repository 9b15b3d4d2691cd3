import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { fewerFolds, walkForwardFolds } from "./folds.ts";

/** Folds over n rows on successive days. */
function foldsOver(n: number, cv_test_size: number, n_splits: number, delay = 0) {
  const days = Int32Array.from({ length: n }, (_, i) => i);
  return walkForwardFolds(
    { days, labelDays: days.map((day) => day + 1 + delay) },
    { cv_test_size: cv_test_size, n_splits: n_splits, delay },
  );
}

test("with a delay, a fold trains on thirty rows or more before its test, and on all whose label is known when it begins", () => {
  assert.deepEqual(foldsOver(46, 15, 15, 2), []);
  const [first] = foldsOver(47, 15, 15, 2);
  assert.deepEqual(first, { trainStart: 0, trainEnd: 30, testStart: 32, testEnd: 47 });
  const property = fc.property(
    // Price dates, of which some have a row.
    fc.array(
      fc.integer({ min: 0, max: 9 }).map((drawn) => drawn > 2),
      { minLength: 30, maxLength: 160 },
    ),
    fc.integer({ min: 1, max: 12 }),
    fc.integer({ min: 0, max: 5 }),
    fc.constantFrom(undefined, 30, 40),
    (hasRow, cv_test_size, delay, window) => {
      const rows = [...hasRow.keys()].filter((day) => hasRow[day] && day + 1 + delay < hasRow.length);
      const labelDays = Int32Array.from(rows, (day) => day + 1 + delay);
      const folds = walkForwardFolds(
        { days: Int32Array.from(rows), labelDays },
        { cv_test_size: cv_test_size, n_splits: 4, delay, window },
      );
      const n = rows.length;
      assert.equal(folds.length, Math.max(0, Math.min(4, Math.floor((n - 30 - delay) / cv_test_size))));
      for (const [j, { trainStart, trainEnd, testStart, testEnd }] of folds.entries()) {
        assert.deepEqual(
          [testStart, testEnd],
          [n - (folds.length - j) * cv_test_size, testStart + cv_test_size],
        );
        const known = rows.filter((day) => day + 1 + delay <= rows[testStart]!);
        const train = rows.slice(trainStart, trainEnd);
        assert.deepEqual(train, window === undefined ? known : known.slice(-window));
        assert.ok(train.length >= 30 && trainEnd >= testStart - delay && trainEnd <= testStart);
      }
    },
  );
  fc.assert(property, { seed: 3, numRuns: 300 });
});

test("fewer folds than requested cause a warning with their number", () => {
  const facts = {
    ticker: "AAA",
    fitRows: 50,
    testSize: 15,
    asked: 15,
    fit: "per_ticker",
    shrinks: false,
  } as const;
  assert.equal(fewerFolds({ ...facts, got: 15 }), undefined);
  const one = fewerFolds({ ...facts, got: 1 });
  assert.deepEqual(one, {
    code: "fewer_folds",
    ticker: "AAA",
    count: 1,
    message: "AAA: 50 fit rows are enough for 1 of 15 folds of 15 rows (the first trains on at least 30).",
  });
  assert.match(fewerFolds({ ...facts, got: 0 })!.message, /no cross-validation and no interval\.$/);
  assert.equal(
    fewerFolds({ ...facts, fit: "pooled", got: 1 })!.message,
    "AAA: 50 fit rows are tested in 1 of 15 folds of 15 dates (a fold needs at least 30 earlier rows of the ticker).",
  );
});
