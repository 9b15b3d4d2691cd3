import assert from "node:assert/strict";
import { test } from "node:test";
import { LoopTurns } from "./loop-turns.ts";

const laterTurn = () => new Promise<void>((resolve) => setImmediate(resolve));

test("a turn of the event loop begins one piece of work, and callers alternate", async () => {
  const turns = new LoopTurns();
  const begun: string[] = [];
  for (const name of ["a1", "a2", "a3", "b1", "b2", "c1"]) {
    void turns.next(name[0]!).then(() => begun.push(name));
  }
  assert.deepEqual(begun, []);
  const after: number[] = [];
  while (begun.length < 6) {
    await laterTurn();
    after.push(begun.length);
  }
  assert.deepEqual(begun, ["a1", "b1", "c1", "a2", "b2", "a3"]);
  assert.deepEqual(after, [1, 2, 3, 4, 5, 6]);
});

test("work that comes alone, or after all others, begins in the next turn", async () => {
  const turns = new LoopTurns();
  for (const caller of ["a", "a", "b"]) {
    let isBegun = false;
    void turns.next(caller).then(() => {
      isBegun = true;
    });
    await laterTurn();
    assert.ok(isBegun);
  }
});
