import assert from "node:assert/strict";
import { test } from "node:test";
import { inTurns, type Pausable, Turns } from "./pausable.ts";

const STOP = new Error("stop");

function* endless(): Pausable<never> {
  for (;;) yield 1;
}

test("endless work ends with its signal, which a timer aborts", {
  timeout: 600_000,
}, async () => {
  const controller = new AbortController();
  setTimeout(() => controller.abort(STOP), 1);
  const told: number[] = [];
  await assert.rejects(
    inTurns(endless(), controller.signal, (done) => told.push(done)),
    STOP,
  );
  assert.ok(told.length > 0 && told.every((done, i) => i === 0 || done > told[i - 1]!));
});

test("a signal that aborts during the last turn still counts", async () => {
  const controller = new AbortController();
  const work = (function* (): Pausable<string> {
    setImmediate(() => controller.abort(STOP));
    yield 1;
    return "done";
  })();
  await assert.rejects(inTurns(work, controller.signal), STOP);
});

test("inTurns returns the result of the work", async () => {
  const work = (function* (): Pausable<string> {
    yield 1;
    return "done";
  })();
  assert.equal(await inTurns(work, new AbortController().signal), "done");
});

test("a loop pauses once per turn, not at each step", async (t) => {
  let now = 0;
  t.mock.method(performance, "now", () => now);
  let turns = 0;
  const controller = new AbortController();
  const shared = new Turns(controller.signal);
  const count = () => {
    turns++;
    setImmediate(count).unref();
  };
  setImmediate(count).unref();
  for (; now < 24; now++) await shared.pauseIfOver();
  assert.equal(turns, 0);
  now = 25;
  await shared.pauseIfOver();
  assert.ok(turns > 0);
  now = 49;
  assert.equal(shared.isOver, false);
  controller.abort(STOP);
  now = 50;
  await assert.rejects(shared.pauseIfOver(), STOP);
});
