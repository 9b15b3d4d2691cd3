import assert from "node:assert/strict";
import { test } from "node:test";
import { Pace } from "./pace.ts";

test("works at most once per pause, not while it works, and once more for what was planned meanwhile", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  let begun = 0;
  let work = Promise.withResolvers<void>();
  const pace = new Pace(1_000, () => {
    begun += 1;
    return work.promise;
  });
  const pass = async (milliseconds: number) => {
    t.mock.timers.tick(milliseconds);
    await new Promise(setImmediate);
    return begun;
  };
  for (let events = 0; events < 10; events++) pace.plan();
  assert.deepEqual([await pass(999), await pass(1)], [0, 1]);
  pace.plan();
  assert.equal(await pass(5_000), 1, "it still works");
  work.resolve();
  work = Promise.withResolvers();
  assert.deepEqual([await pass(0), await pass(1_000)], [1, 2]);
  let isStopped = false;
  const stopping = pace.stop().then(() => {
    isStopped = true;
  });
  pace.plan();
  assert.deepEqual([await pass(5_000), isStopped], [2, false]);
  work.resolve();
  await stopping;
});
