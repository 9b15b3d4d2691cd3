import assert from "node:assert/strict";
import { test } from "node:test";
import { StatementQueue } from "./statement-queue.ts";

test("statements run in order, each after the end of the one before", async () => {
  const turns = new StatementQueue();
  const seen: string[] = [];
  const body = (name: string) => async () => {
    seen.push(`${name} begins`);
    await Promise.resolve();
    seen.push(`${name} ends`);
  };
  await Promise.all(["a", "b", "c"].map((name) => turns.run(body(name))));
  assert.deepEqual(seen, ["a begins", "a ends", "b begins", "b ends", "c begins", "c ends"]);
});

test("the event loop turns between two statements", async () => {
  const turns = new StatementQueue();
  const seen: string[] = [];
  const first = turns.run(async () => {
    setImmediate(() => seen.push("something else"));
    seen.push("first");
  });
  const second = turns.run(async () => seen.push("second"));
  await Promise.all([first, second]);
  assert.deepEqual(seen, ["first", "something else", "second"]);
});

test("a failed statement fails its own caller alone", async () => {
  const turns = new StatementQueue();
  const failing = turns.run(async () => {
    throw new Error("no");
  });
  const next = turns.run(async () => "yes");
  await assert.rejects(failing, /^Error: no$/);
  assert.equal(await next, "yes");
});
