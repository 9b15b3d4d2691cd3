import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import { test } from "node:test";
import { AbortListeners } from "./abort-listeners.ts";

test("calls many waiters of one signal in order through one listener, without those that left", () => {
  const listeners = new AbortListeners();
  const [stop, other] = [new AbortController(), new AbortController()];
  const called: string[] = [];
  const acts = ["a", "b", "c"].map((name) => () => {
    called.push(name);
    // Like a task that the signal settles.
    listeners.remove(stop.signal, acts[0]!);
  });
  for (const act of acts) listeners.add(stop.signal, act);
  listeners.add(other.signal, () => called.push("other"));
  assert.equal(getEventListeners(stop.signal, "abort").length, 1);
  listeners.remove(stop.signal, acts[1]!);
  stop.abort();
  assert.deepEqual(called, ["a", "c"]);
});

test("keeps no listener on a signal without waiters, and accepts new waiters", () => {
  const listeners = new AbortListeners();
  const { signal } = new AbortController();
  const act = () => undefined;
  for (const _ of [1, 2]) {
    listeners.add(signal, act);
    listeners.remove(signal, act);
    assert.deepEqual(getEventListeners(signal, "abort"), []);
  }
  listeners.remove(signal, act);
});
