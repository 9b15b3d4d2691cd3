import assert from "node:assert/strict";
import { test } from "node:test";
import { StagePace } from "./running-job.ts";

test("progress has its share and, after some units, the seconds that the rest of the stage takes", () => {
  const pace = new StagePace();
  const at = (stage: "read" | "fit", done: number, total: number | null, seconds: number) => {
    const { percent, seconds_left } = pace.complete({ stage, done, total }, seconds * 1_000);
    return [percent, seconds_left];
  };
  assert.deepEqual(at("read", 100, null, 0), [undefined, undefined]);
  assert.deepEqual(at("fit", 0, 100, 10), [0, undefined], "the import of the libraries");
  assert.deepEqual(at("fit", 1, 100, 20), [1, undefined]);
  assert.deepEqual(at("fit", 4, 100, 23), [4, undefined]);
  assert.deepEqual(at("fit", 11, 100, 30), [11, 89]);
  assert.deepEqual(at("fit", 100, 100, 120), [100, undefined]);
  assert.deepEqual(at("fit", 1, 3, 130), [33.3, undefined], "another attempt");
});
