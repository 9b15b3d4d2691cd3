import assert from "node:assert/strict";
import { test } from "node:test";
import { sparkLine } from "./spark-line.ts";

const pathOf = (svg: string) => /<path class="(line[^"]*)" d="M([^"]+)"/.exec(svg)!;

test("a spark line has few steps, ends at the last value, and is bad if that is below 0", () => {
  const rising = Float64Array.from({ length: 1_000 }, (_, i) => i);
  const [, kind, path] = pathOf(sparkLine(rising));
  assert.equal(kind, "line");
  assert.ok(path!.match(/-?\d+/g)!.length <= 2 * 33);
  const steps = path!.match(/-?\d+/g)!.map(Number);
  assert.equal(
    steps.reduce((sum, step, i) => (i % 2 === 0 ? sum + step : sum), 0),
    1_000,
  );
  assert.equal(pathOf(sparkLine(rising.map((value) => -value)))[1], "line bad");
});

test("one value is no line", () => {
  assert.equal(sparkLine(Float64Array.of(1)), "");
  assert.equal(sparkLine(new Float64Array(0)), "");
});
