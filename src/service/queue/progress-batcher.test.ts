import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import type { EpochPoint, EventBatch } from "../../contract/output/job-events.ts";
import { ProgressBatcher } from "./running-job.ts";

function epochs(ticker: string, epoch: number): EventBatch {
  const point: EpochPoint = { ticker, epoch, train_loss: 1 / epoch, validation_loss: 1 / epoch };
  return { epochs: { points: [point] } };
}

/** A batcher whose store is a list that the test can delay. */
function batcherOf({ begun = true } = {}) {
  const stored: EventBatch[] = [];
  let held: Promise<void> = Promise.resolve();
  const batcher = new ProgressBatcher(
    async (batch) => {
      stored.push(batch);
      await held;
    },
    (error) => assert.fail(error as Error),
  );
  if (begun) batcher.begin();
  const hold = () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    held = promise;
    return resolve;
  };
  return { batcher, stored, hold };
}

test("batches that arrive while one is being stored are stored together", async () => {
  const { batcher, stored, hold } = batcherOf();
  const release = hold();
  batcher.take({ progress: { stage: "read", done: 1, total: null } });
  assert.equal(stored.length, 1, "the first is stored at once");
  for (let epoch = 1; epoch <= 3; epoch++) {
    batcher.take({ ...epochs("A", epoch), progress: { stage: "fit", done: epoch, total: null } });
  }
  const failure = { ticker: "B", code: "diverged", message: "B" };
  batcher.take({ failures: [failure], counts: { warnings: {}, failures: { diverged: 1 } } });
  await turn();
  assert.equal(stored.length, 1, "one at a time");
  release();
  await batcher.flush();
  assert.deepEqual(
    stored.map((batch) => batch.epochs?.points.map(({ epoch }) => epoch)),
    [undefined, [1, 2, 3]],
  );
  const { progress, failures, counts, warnings } = stored[1]!;
  assert.deepEqual(progress, { stage: "fit", done: 3, total: null });
  assert.deepEqual([failures, counts?.failures, warnings], [[failure], { diverged: 1 }, undefined]);
});

test("nothing is stored before the batcher begins, and then everything that it received", async () => {
  const { batcher, stored } = batcherOf({ begun: false });
  batcher.take(epochs("A", 1));
  batcher.take(epochs("A", 2));
  await batcher.flush();
  assert.equal(stored.length, 0);
  batcher.begin();
  await batcher.flush();
  assert.deepEqual(
    stored.map((batch) => batch.epochs!.points.map(({ epoch }) => epoch)),
    [[1, 2]],
  );
});

test("a batch stays small while the store is unreachable, and contains the newest epoch afterwards", async () => {
  const { batcher, stored, hold } = batcherOf();
  const release = hold();
  batcher.take(epochs("A", 1));
  for (let epoch = 2; epoch <= 50_000; epoch++) {
    const failure = { ticker: `T${epoch}`, code: "fit_failed", message: "why" };
    batcher.take({ ...epochs("A", epoch), failures: [failure] });
  }
  release();
  await batcher.flush();
  assert.equal(stored.length, 2);
  const { epochs: batched, failures } = stored[1]!;
  assert.ok(batched!.points.length <= 202);
  const [loss, last] = [1 / 50_000, batched!.points.at(-1)];
  assert.deepEqual(last, { ticker: "A", epoch: 50_000, train_loss: loss, validation_loss: loss });
  assert.equal(batched!.points.length + batched!.left_out!, 49_999);
  assert.equal(failures?.length, 200);
});
