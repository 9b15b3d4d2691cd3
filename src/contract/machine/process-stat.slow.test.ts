import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { startUnreaped } from "../../../test/unreaped.testing.ts";
import { isGone, isRunning, processMark, sessionOf, startTimeOf } from "./process-stat.ts";

test("a process has a start time until it ends", async (t) => {
  const child = await startUnreaped(t, ["sleep", "600"]);
  const start = startTimeOf(child.pid);
  assert.match(start!, /^\d+$/);
  assert.ok(isRunning(child.pid));
  assert.equal(sessionOf(child.pid), sessionOf(process.pid));
  await child.kill();
  assert.ok(readFileSync(`/proc/${child.pid}/stat`, "latin1").includes(start!), "it is still listed");
  assert.deepEqual(
    [startTimeOf(child.pid), isRunning(child.pid), sessionOf(child.pid)],
    [undefined, false, undefined],
  );
});

test("a mark distinguishes a living process from one that ended, even if its pid was reused", () => {
  const [machine, pid, start] = processMark().split("-");
  assert.equal(isGone(processMark()), false);
  assert.equal(isGone(`${machine}-${pid}-${Number(start) - 1}`), true);
  assert.equal(isGone(`${machine}-999999999-${start}`), true);
  assert.equal(isGone(`00000000-999999999-${start}`), false);
});
