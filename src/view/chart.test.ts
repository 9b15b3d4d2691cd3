import assert from "node:assert/strict";
import { test } from "node:test";
import { ticksWithin, tickTexts } from "./chart.ts";

test("ticks are round numbers within their axis", () => {
  assert.deepEqual(ticksWithin(0.17, 1.1), [0.2, 0.4, 0.6, 0.8, 1]);
  assert.deepEqual(tickTexts([0.2, 0.4, 0.6, 0.8, 1]), ["0.2", "0.4", "0.6", "0.8", "1.0"]);
  assert.deepEqual(tickTexts([0.95, 1, 1.05]), ["0.95", "1.00", "1.05"]);
  assert.deepEqual(tickTexts([2_000, 4_000]), ["2000", "4000"]);
  assert.deepEqual(tickTexts([0, 2e-7, 4e-7]), ["0e+0", "2e-7", "4e-7"]);
  assert.deepEqual(ticksWithin(-0.03, 0.02), [-0.03, -0.02, -0.01, 0, 0.01, 0.02]);
  assert.deepEqual(ticksWithin(1_000, 9_000), [2_000, 4_000, 6_000, 8_000]);
  for (const [low, high] of [
    [0, 1e-9],
    [-1e12, 1e12],
    [0.9999, 1.0001],
  ] as const) {
    const ticks = ticksWithin(low, high);
    assert.ok(
      ticks.length >= 2 && ticks.length <= 7 && ticks[0]! >= low && ticks.at(-1)! <= high,
      String(ticks),
    );
  }
});
