import assert from "node:assert/strict";
import { test } from "node:test";
import { waitOf } from "./operation-answer.ts";

test("waitOf finds the seconds to wait among other preferences, and returns at most 60", () => {
  for (const [header, seconds] of [
    ["wait=5", 5],
    ["respond-async, Wait = 7", 7],
    ['wait="8"; odd=1', 8],
    ["wait=3600", 60],
    ["wait=0", 0],
    ["wait=2, wait=9", 2],
    ["wait", undefined],
    ["wait=-1", undefined],
    ["wait=1.5", undefined],
    ["handling=lenient", undefined],
    ["", undefined],
  ] as const) {
    assert.equal(waitOf(header), seconds, header);
  }
  assert.equal(waitOf(undefined), undefined);
  assert.equal(waitOf(["respond-async", "wait=4"]), 4);
});
