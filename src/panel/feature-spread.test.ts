import assert from "node:assert/strict";
import { test } from "node:test";
import { featureSpread } from "./feature-spread.ts";

/** The spread of columns over all their rows, or over the given ones. */
function spreadOf(columns: readonly (readonly number[])[], fit = [...columns[0]!.keys()]): number {
  const rows = columns[0]!.map((_, row) => columns.map((column) => column[row]!));
  return featureSpread({
    columns: columns.map((_, c) => `f${c}`),
    x: Float64Array.from(rows.flat()),
    fit: Int32Array.from(fit),
  });
}

const WAVE = [1, -1, 2, -2, 3, -3];
const times = (factor: number, offset = 0) => WAVE.map((value) => offset + factor * value);

test("the spread is the ratio of the largest to the smallest deviation", () => {
  assert.equal(spreadOf([times(1), times(4), times(2)]), 4);
  assert.ok(Math.abs(spreadOf([times(1, 100), times(0.01, -7)]) - 100) < 1e-9);
  assert.equal(spreadOf([times(2)]), 1);
});

test("values at both ends of the range of a float64 have a deviation", () => {
  assert.ok(Math.abs(spreadOf([times(1e307), times(1e306)]) - 10) < 1e-9);
  assert.ok(Math.abs(spreadOf([times(1e-300), times(1e-299)]) - 10) < 1e-9);
  assert.equal(spreadOf([times(1e300), times(1e-300)]), 1e300);
});
