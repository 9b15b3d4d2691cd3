import assert from "node:assert/strict";
import { test } from "node:test";
import { SubmissionKey } from "./submission-key.ts";

test("the same text keeps its key, and another one gets another", () => {
  const keys = new SubmissionKey();
  const first = keys.of("a");
  assert.match(first, /^console-[0-9a-f]{32}$/);
  // A text that was never sent may change under its key.
  assert.equal(keys.of("b"), first);
  assert.equal(keys.sent("c"), first);
  assert.equal(keys.sent("c"), first);
  const second = keys.of("d");
  assert.notEqual(second, first);
  assert.equal(keys.sent("d"), second);
  assert.notEqual(new SubmissionKey().of("a"), first);
});
