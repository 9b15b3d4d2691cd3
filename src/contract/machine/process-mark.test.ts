import assert from "node:assert/strict";
import { test } from "node:test";
import { isGone, processMark } from "./process-stat.ts";

test("a mark distinguishes a living process from one that ended, even if its pid was reused", () => {
  const [machine, pid, start] = processMark().split("-");
  assert.equal(isGone(processMark()), false);
  assert.equal(isGone(`${machine}-${pid}-${Number(start) - 1}`), true);
  assert.equal(isGone(`${machine}-999999999-${start}`), true);
  assert.equal(isGone(`00000000-999999999-${start}`), false);
});
