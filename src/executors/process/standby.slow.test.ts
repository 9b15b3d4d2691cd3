import assert from "node:assert/strict";
import { beforeEach, mock, test } from "node:test";
import type { JobChild } from "./job-child.ts";
import { Standby } from "./standby.ts";

/** A fake: runs nothing, and ends when its test says so or when it is stopped. */
class FakeChild {
  readonly #end = Promise.withResolvers<void>();
  readonly ended = this.#end.promise;
  stopped = false;

  stop(): void {
    this.stopped = true;
    this.#end.resolve();
  }

  async die(): Promise<void> {
    this.#end.resolve();
    await settled();
  }
}

const settled = () => new Promise<void>((resolve) => setImmediate(resolve));

let children: FakeChild[];
beforeEach((context) => {
  children = [];
  mock.timers.enable({ apis: ["setTimeout"] });
  (context as unknown as { after(done: () => void): void }).after(() => mock.timers.reset());
});

function standby(isWanted = () => true): Standby {
  const start = () => {
    const child = new FakeChild();
    children.push(child);
    return child as unknown as JobChild;
  };
  return new Standby({ start, isWanted });
}

test("starts a process that keeps dying less and less often", async () => {
  const waiting = standby();
  for (const seconds of [1, 2, 4, 8, 16, 32, 60, 60]) {
    const count = children.length;
    await children.at(-1)!.die();
    assert.equal(waiting.child, undefined);
    mock.timers.tick(1_000 * seconds - 1);
    assert.equal(children.length, count);
    mock.timers.tick(1);
    assert.equal(children.length, count + 1);
  }
  waiting.close();
});

test("stops waiting processes when memory is short, and starts the next one later each time", async () => {
  const waiting = standby();
  for (const seconds of [1, 2, 4]) {
    const gone = waiting.stopWaiting();
    assert.deepEqual(gone, [children.at(-1)]);
    assert.equal(children.at(-1)!.stopped, true);
    await settled();
    assert.deepEqual(waiting.stopWaiting(), [], "none is left");
    const count = children.length;
    mock.timers.tick(1_000 * seconds - 1);
    assert.equal(children.length, count);
    mock.timers.tick(1);
    assert.equal(children.length, count + 1);
  }
  waiting.close();
});

test("starts the next process a second after one was taken, or when its job is over", async () => {
  const waiting = standby();
  const taken = waiting.take();
  assert.equal(taken, children[0] as unknown);
  assert.equal(waiting.take(), undefined);
  mock.timers.tick(1_000);
  assert.equal(children.length, 2);
  waiting.take();
  await children[1]!.die();
  mock.timers.tick(0);
  assert.equal(children.length, 3);
  await children[0]!.die();
  mock.timers.tick(60_000);
  assert.equal(children.length, 3, "there is one already");
  waiting.close();
});

test("replaces a process that is no longer suitable", async () => {
  const waiting = standby();
  waiting.replace();
  mock.timers.tick(0);
  assert.deepEqual(
    children.map(({ stopped }) => stopped),
    [true, false],
  );
  waiting.close();
});

test("takes a process again after its order, and starts no other meanwhile", async () => {
  const waiting = standby();
  for (let orders = 0; orders < 3; orders++) {
    waiting.takeBack(waiting.take()!);
    mock.timers.tick(1_000);
  }
  assert.equal(children.length, 1);
  waiting.close();
});

test("keeps only one of several processes that have finished their orders", async () => {
  const waiting = standby();
  const taken = [waiting.take()!];
  mock.timers.tick(1_000);
  taken.push(waiting.take()!);
  for (const child of taken) waiting.takeBack(child);
  assert.equal(children.length, 2);
  mock.timers.tick(30_000);
  assert.deepEqual(
    children.map(({ stopped }) => stopped),
    [true, false],
  );
  waiting.close();
});

test("starts no process while no job could start", async () => {
  const waiting = standby(() => false);
  waiting.take();
  mock.timers.tick(60_000);
  assert.equal(children.length, 1);
  waiting.close();
});

test("stops the waiting process on close, and starts no other", async () => {
  const waiting = standby();
  waiting.take();
  waiting.close();
  await children[0]!.die();
  mock.timers.tick(60_000);
  assert.equal(children.length, 1);
  const other = standby();
  other.close();
  assert.equal(children[1]!.stopped, true);
  mock.timers.tick(60_000);
  assert.equal(children.length, 2);
});
