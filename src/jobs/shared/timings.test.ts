import assert from "node:assert/strict";
import { test } from "node:test";
import type { Timing } from "../../contract/output/job-events.ts";
import { FitTimings, timed } from "./timings.ts";

test("a step has a timing when it is over, even if it fails", async () => {
  const spans: Timing[] = [];
  const onTiming = (timing: Timing) => spans.push(timing);
  assert.equal(await timed({ onTiming }, "good", () => 7), 7);
  await assert.rejects(
    timed({ onTiming }, "bad", () => Promise.reject(new Error("no"))),
    /no/,
  );
  assert.deepEqual(
    spans.map(({ name }) => name),
    ["good", "bad"],
  );
  assert.ok(spans.every(({ start, end }) => start <= end && Math.abs(end - Date.now()) < 60_000));
});

test("a ticker's time runs from its first fit to its last, and the total time starts with the first of all", () => {
  const spans: Timing[] = [];
  const timings = new FitTimings({ onTiming: (timing) => spans.push(timing) });
  timings.add("A", 2);
  timings.add("A", 1);
  timings.add("B", 4);
  timings.finish("A");
  timings.finish("B");
  timings.finish("FAILED");
  timings.finishAll();
  assert.deepEqual(
    spans.map(({ name }) => name),
    ["fit A", "fit B", "fit"],
  );
  const [a, b, all] = spans.map(({ start, end }) => end - start) as [number, number, number];
  assert.ok(a >= 2_000 && b >= 4_000 && all >= b);
});
