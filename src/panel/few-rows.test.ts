import assert from "node:assert/strict";
import { test } from "node:test";
import { hasFewRows } from "./few-rows.ts";
import { walkForwardFolds } from "./folds.ts";

test("five fit rows per feature are enough, without folds", () => {
  assert.deepEqual([hasFewRows(50, 10, []), hasFewRows(49, 10, [])], [false, true]);
  assert.equal(hasFewRows(38, 26, []), true);
});

test("folds that train on too few rows count if they test a third of the out-of-fold rows", () => {
  // Six folds of 5 rows over 60: they train on 30, 35, 40, 45, 50 and 55 rows.
  const folds = walkForwardFolds(60, 5, 6);
  assert.equal(hasFewRows(60, 7, folds), false, "one of six trains on fewer than 35");
  assert.equal(hasFewRows(60, 8, folds), true, "two of six train on fewer than 40");
  assert.equal(hasFewRows(60, 6, folds), false);
});
