import assert from "node:assert/strict";
import { test } from "node:test";
import { StatementQueue } from "./pglite.ts";

test("what was asked for first is done first, and nothing begins before the one ahead has ended", async () => {
  const turns = new StatementQueue();
  const seen: string[] = [];
  const body = (name: string) => async () => {
    seen.push(`${name} begins`);
    await Promise.resolve();
    seen.push(`${name} ends`);
  };
  await Promise.all(["a", "b", "c"].map((name) => turns.take(body(name))));
  assert.deepEqual(seen, ["a begins", "a ends", "b begins", "b ends", "c begins", "c ends"]);
});

test("the event loop turns between two", async () => {
  const turns = new StatementQueue();
  const seen: string[] = [];
  const first = turns.take(async () => {
    setImmediate(() => seen.push("something else"));
    seen.push("first");
  });
  const second = turns.take(async () => seen.push("second"));
  await Promise.all([first, second]);
  assert.deepEqual(seen, ["first", "something else", "second"]);
});

test("a failure is its own asker's alone", async () => {
  const turns = new StatementQueue();
  const failing = turns.take(async () => {
    throw new Error("no");
  });
  const next = turns.take(async () => "yes");
  await assert.rejects(failing, /^Error: no$/);
  assert.equal(await next, "yes");
});
