import assert from "node:assert/strict";
import { test } from "node:test";
import { type PendingTask, TaskQueue } from "./engine-task.ts";

function pending(label: string, failed: string[] = []): PendingTask {
  const task = { task: "device", label, device: "cpu" } as const;
  return { task, onProgress: undefined, deaths: [], attempts: 0, settle: () => failed.push(label) };
}

const labels = (queue: TaskQueue) => {
  const taken: (string | undefined)[] = [];
  while (!queue.isEmpty) taken.push(queue.take()?.task.label);
  return taken;
};

test("takes tasks in order, after those whose worker died, the latest of these first", () => {
  const queue = new TaskQueue();
  assert.equal(queue.take(), undefined);
  const [a, b, c, d, e, f] = ["a", "b", "c", "d", "e", "f"].map((name) => pending(name));
  for (const task of [a!, b!, c!]) queue.add(task);
  assert.equal(queue.take(), a);
  queue.add(d!);
  queue.addFirst(a!);
  queue.addFirst(e!);
  assert.deepEqual([queue.remove(c!), queue.remove(c!), queue.remove(f!)], [true, false, false]);
  queue.add(f!);
  assert.deepEqual(labels(queue), ["e", "a", "b", "d", "f"]);
});

test("fails tasks in their order", () => {
  const queue = new TaskQueue();
  const failed: string[] = [];
  const tasks = ["a", "b", "c"].map((name) => pending(name, failed));
  for (const task of tasks) queue.add(task);
  queue.addFirst(queue.take()!);
  queue.fail(new Error("closed"));
  assert.deepEqual(failed, ["a", "b", "c"]);
  assert.ok(queue.isEmpty);
});
