import assert from "node:assert/strict";
import { test } from "node:test";
import { ticksWithin, tickTexts } from "./views/operation/training-panel.ts";
import { bytes, counted, duration, kindOf, operationName, stageWords } from "./words.ts";

test("a time span is written in its two largest units", () => {
  for (const [milliseconds, words] of [
    [-5, "0.0 s"],
    [440, "0.4 s"],
    [9_940, "9.9 s"],
    [59_400, "59 s"],
    [59_600, "1 min"],
    [185_000, "3 min 5 s"],
    [3_600_000, "1 h"],
    [7_380_000, "2 h 3 min"],
    [93_600_000, "1 d 2 h"],
  ] as const)
    assert.equal(duration(milliseconds), words);
});

test("bytes are written in a decimal unit", () => {
  assert.deepEqual([0, 999, 1_234, 56_789_000, 7e15].map(bytes), [
    "0 bytes",
    "999 bytes",
    "1.23 kB",
    "56.8 MB",
    "7.00e+3 TB",
  ]);
});

test("counts agree with their noun, and thousands are separated", () => {
  assert.deepEqual(
    [counted(1, "row"), counted(0, "row"), counted(10_000, "row")],
    ["1 row", "0 rows", "10,000 rows"],
  );
});

test("kinds and stages of a later service are shown unchanged, even names that every object has", () => {
  assert.deepEqual([kindOf("run_ml_job"), kindOf("constructor")], ["ML job", "constructor"]);
  assert.deepEqual(
    [stageWords("read"), stageWords("__proto__"), stageWords("a\u202eb")],
    ["Read inputs", "__proto__", "a[U+202E]b"],
  );
  assert.equal(operationName({ operation: "audit", id: "0123456789" }), "Audit 01234567");
});

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
