import assert from "node:assert/strict";
import { once } from "node:events";
import { test } from "node:test";
import { runConcurrently, runEach } from "./run-concurrently.ts";

const never = () => new AbortController().signal;

for (const [name, faulty] of [
  ["first", 0],
  ["second", 1],
] as const) {
  test(`a fault of the ${name} aborts the other, and is thrown once the other has ended`, async () => {
    const fault = new Error("fault");
    let ended = false;
    const work = (index: number) => async (signal: AbortSignal) => {
      if (index === faulty) throw fault;
      if (!signal.aborted) await once(signal, "abort");
      await new Promise(setImmediate);
      ended = true;
    };
    await assert.rejects(runConcurrently(never(), work(0), work(1)), fault);
    assert.ok(ended);
  });
}

test("throws the fault of a task, not the error that it causes in the body", async () => {
  const fault = new Error("fault");
  const running = runEach(never(), async (start, signal) => {
    start(Promise.reject(fault));
    await once(signal, "abort");
    throw new Error("the reading was aborted");
  });
  await assert.rejects(running, fault);
});
