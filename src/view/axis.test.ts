import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { parseDay } from "../contract/market/dates.ts";
import { axisOf, ticksWithin } from "./axis.ts";

const valueAxis = (values: readonly number[], ticks = 4) => axisOf({ unit: "number", ticks }, values);

test("every float64 has a place on an axis of values, whose ticks are round and inside", () => {
  const any = fc.double({ noNaN: true, noDefaultInfinity: true });
  const size = fc.oneof(any, fc.double({ min: -1e-300, max: 1e-300, noNaN: true }));
  fc.assert(
    fc.property(
      fc.array(size, { minLength: 1, maxLength: 20 }),
      fc.integer({ min: 2, max: 8 }),
      (values, count) => {
        const { low, high, lines, share } = valueAxis(values, count);
        assert.ok(low < high && lines.length <= 2 * count + 2);
        for (const tick of lines)
          assert.ok(tick >= low - 1e-9 * Math.abs(low) && tick <= high + 1e-9 * Math.abs(high));
        const sorted = values.toSorted((a, b) => a - b).map(share);
        for (const [i, at] of sorted.entries()) assert.ok(at >= 0 && at <= 1 && at >= (sorted[i - 1] ?? 0));
      },
    ),
  );
});

test("bars that start at 0 touch the frame, other values keep a distance from it", () => {
  assert.equal(valueAxis([0, 4]).low, 0);
  assert.ok(valueAxis([0, 4]).high > 4 && valueAxis([1, 4]).low < 1);
  assert.deepEqual([valueAxis([]).low, valueAxis([0]).low < 0], [0, true]);
});

test("ticks are round numbers, with as many decimals each as the longest needs", () => {
  assert.deepEqual(ticksWithin(0.17, 1.1, 4), [0.2, 0.4, 0.6, 0.8, 1]);
  assert.deepEqual(ticksWithin(-0.03, 0.02, 4), [-0.03, -0.02, -0.01, 0, 0.01, 0.02]);
  const texts = (unit: "number" | "mu" | "share", values: readonly number[]) =>
    axisOf({ unit }, values).labels.map(({ text }) => text);
  assert.deepEqual(texts("number", [0.951, 1.049]), ["0.96", "0.98", "1.00", "1.02", "1.04"]);
  assert.deepEqual(texts("mu", [-0.0011, 0.0012]), [
    "\u221210\u202fbp",
    "\u22125\u202fbp",
    "0\u202fbp",
    "+5\u202fbp",
    "+10\u202fbp",
  ]);
  assert.deepEqual(texts("share", [0.9, 0.92]), [
    "90.0\u202f%",
    "90.5\u202f%",
    "91.0\u202f%",
    "91.5\u202f%",
    "92.0\u202f%",
  ]);
  assert.deepEqual(texts("number", [0, 4e-7]), ["0", "1e-7", "2e-7", "3e-7", "4e-7"]);
});

test("an axis of dates labels the starts of years, quarters or months, whichever are few, at their place", () => {
  const labels = (first: string, last: string) => {
    const [from, to] = [parseDay(first)!, parseDay(last)!];
    const { labels: found } = axisOf("days", [from, to]);
    for (const { at, text } of found) {
      const day = parseDay(`${text}-01-01`.slice(0, 10))!;
      assert.ok(Math.abs(from + at * (to - from) - day) < 1e-6 || from === to);
    }
    return found.map(({ text }) => text);
  };
  assert.deepEqual(labels("2018-12-31", "2022-12-27"), ["2019", "2020", "2021", "2022"]);
  assert.deepEqual(labels("2021-02-10", "2022-02-10"), ["2021-04", "2021-07", "2021-10", "2022-01"]);
  assert.deepEqual(labels("2021-01-01", "2021-04-20"), ["2021-01", "2021-02", "2021-03", "2021-04"]);
  assert.deepEqual(labels("1900-01-01", "2020-01-01"), ["1900", "1950", "2000"]);
  assert.deepEqual(labels("2021-02-03", "2021-02-20"), ["2021-02-03", "2021-02-20"]);
  assert.deepEqual(labels("2021-02-03", "2021-02-03"), ["2021-02-03"]);
});

test("an axis of epochs names its first one", () => {
  const texts = (last: number) => axisOf("epochs", [1, last]).labels.map(({ text }) => text);
  assert.deepEqual(texts(12), ["epoch 1", "4", "6", "8", "10", "12"]);
  assert.deepEqual(texts(1), ["epoch 1"]);
});
