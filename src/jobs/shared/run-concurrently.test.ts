import assert from "node:assert/strict";
import { once } from "node:events";
import { test } from "node:test";
import { runEach } from "./run-concurrently.ts";

test("throws the first fault once every other task has ended, not the errors that it causes", async () => {
  const fault = new Error("fault");
  let ended = false;
  const running = runEach(new AbortController().signal, async (start, signal) => {
    const work = async () => {
      await once(signal, "abort");
      await new Promise(setImmediate);
      ended = true;
    };
    start(work());
    start(Promise.reject(fault));
    await once(signal, "abort");
    throw new Error("the reading was aborted");
  });
  await assert.rejects(running, fault);
  assert.ok(ended);
});
