import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { histogram } from "../statistics/histogram.ts";
import { columnChart, histogramChart } from "./column-chart.ts";
import { lineChart } from "./line-chart.ts";
import { linearScale, scaleBetween } from "./scale.ts";

const finite = fc.double({ noNaN: true, noDefaultInfinity: true, min: -1e300, max: 1e300 });

test("a scale contains all its values, and its ticks are round and inside", () => {
  fc.assert(
    fc.property(fc.array(finite, { maxLength: 20 }), fc.integer({ min: 2, max: 8 }), (values, count) => {
      const scale = linearScale(values, count);
      assert.ok(scale.low < scale.high);
      for (const value of values) assert.ok(scale.share(value) >= 0 && scale.share(value) <= 1);
      assert.ok(scale.ticks.length <= 2 * count + 2);
      const digits = scale.step / 10 ** Math.floor(Math.log10(scale.step) + 1e-9);
      assert.ok(
        [1, 2, 5, 10].some((round) => Math.abs(digits - round) < 1e-6),
        `step ${scale.step}`,
      );
    }),
  );
});

test("bars that start at 0 touch the frame, other values keep a distance from it", () => {
  assert.equal(linearScale([0, 4]).low, 0);
  assert.ok(linearScale([0, 4]).high > 4);
  assert.ok(linearScale([1, 4]).low < 1);
});

test("no value, gaps and a single value have a scale, too", () => {
  assert.deepEqual([linearScale([]).ticks.at(0), linearScale([Number.NaN]).high > 0], [0, true]);
  const single = linearScale([3]);
  assert.ok(single.low < 3 && single.high > 3);
  assert.ok(linearScale([0]).low < 0);
});

test("ticks of ordinary ranges", () => {
  assert.deepEqual(
    linearScale([-0.3, 0.9], 6).ticks.map((tick) => tick.toFixed(1)),
    ["-0.2", "0.0", "0.2", "0.4", "0.6", "0.8"],
  );
  assert.deepEqual(linearScale([0, 97]).ticks, [0, 20, 40, 60, 80, 100]);
});

test("every float64 has a position, from the smallest to the largest", () => {
  const any = fc.double({ noNaN: true, noDefaultInfinity: true });
  const size = fc.oneof(any, fc.double({ min: -1e-300, max: 1e-300, noNaN: true }));
  fc.assert(
    fc.property(size, size, fc.integer({ min: 1, max: 8 }), (a, b, count) => {
      for (const scale of [linearScale([a, b], count), scaleBetween(Math.min(a, b), Math.max(a, b), count)]) {
        assert.ok(scale.low < scale.high);
        for (const tick of scale.ticks) assert.ok(tick >= scale.low && tick <= scale.high);
        assert.ok(scale.ticks.length <= 2 * count + 2 && scale.step > 0);
        assert.ok(a < b ? scale.share(a) <= scale.share(b) : scale.share(a) >= scale.share(b));
      }
    }),
  );
});

test("charts of values beyond any scale have paths of whole numbers", () => {
  for (const pair of [
    [-1e308, 1e308],
    [0, 5e-324],
    [1e-310, 1e-310],
    [7, 7],
  ]) {
    const values = Float64Array.from(pair);
    const lines = [{ name: "a", values }];
    const line = lineChart({ finding: "", x: Int32Array.of(1, 2), xKind: "epoch", unit: "number", lines });
    const columns = columnChart({ finding: "", labels: ["a", "b"], unit: "number", series: [pair] });
    const drawn = [line.draw([]), columns.draw([]), histogramChart("", histogram(values), "number", 0)];
    for (const svg of drawn) assert.doesNotMatch(svg, /NaN|Infinity|undefined|null/);
  }
});
