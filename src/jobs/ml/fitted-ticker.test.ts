import assert from "node:assert/strict";
import { test } from "node:test";
import { spreadImportances } from "./fitted-ticker.ts";

const fit = (values: Readonly<Record<string, number>>) =>
  Object.entries(values).map(([feature, importance]) => ({ feature, importance }));

test("the last fit's importances have deviations over all fits, if all of them list the feature", () => {
  const fits = [fit({ a: 1, b: 4 }), fit({ b: 6, a: 3 }), fit({ a: 5, c: 2, b: 5 })];
  const rounded = spreadImportances(fits)!.map(({ feature, importance, spread }) => [
    feature,
    importance,
    spread?.toFixed(12),
  ]);
  assert.deepEqual(rounded, [
    ["a", 5, "2.000000000000"],
    ["c", 2, undefined],
    ["b", 5, "1.000000000000"],
  ]);
});

test("a single fit has no deviation, and a library without importances has none", () => {
  assert.deepEqual(spreadImportances([fit({ a: 1 })]), [{ feature: "a", importance: 1 }]);
  assert.equal(spreadImportances([fit({ a: 1 }), undefined]), undefined);
  assert.deepEqual(spreadImportances([undefined, fit({ a: 1 })]), [{ feature: "a", importance: 1 }]);
});
