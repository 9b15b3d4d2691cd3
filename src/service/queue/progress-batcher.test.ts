import assert from "node:assert/strict";
import { mock, test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import type { EpochPoint, ExecutionEvent } from "../../contract/output/job-events.ts";
import type { ProgressBatch } from "../store/record-progress.ts";
import { ProgressBatcher } from "./progress-batcher.ts";

function epochs(ticker: string, epoch: number): ExecutionEvent {
  const point: EpochPoint = { ticker, epoch, train_loss: 1 / epoch, validation_loss: 1 / epoch };
  return { kind: "epochs", epochs: { points: [point] } };
}

/** A batcher whose store is a list that the test may hold up; the test moves the clock. */
function batcherOf(t: { after: (end: () => void) => void }, { begun = true } = {}) {
  mock.timers.enable({ apis: ["setTimeout"] });
  t.after(() => mock.timers.reset());
  const stored: ProgressBatch[] = [];
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

test("the events of one second are stored as one batch, epochs as one list", async (t) => {
  const { batcher, stored } = batcherOf(t);
  for (let epoch = 1; epoch <= 3; epoch++) {
    batcher.take(epochs("A", epoch));
    batcher.take({ kind: "progress", stage: "fit", done: epoch });
  }
  batcher.take({ kind: "failure", failure: { ticker: "B", code: "diverged", message: "B" } });
  batcher.take({ kind: "counts", warnings: {}, failures: { diverged: 1 } });
  mock.timers.tick(999);
  assert.equal(stored.length, 0);
  mock.timers.tick(1);
  assert.equal(stored.length, 1);
  assert.deepEqual(
    stored[0]!.epochs!.points.map(({ epoch }) => epoch),
    [1, 2, 3],
  );
  assert.deepEqual(stored[0]!.progress, { stage: "fit", done: 3, total: null });
  assert.deepEqual([stored[0]!.failures.length, stored[0]!.counts?.failures], [1, { diverged: 1 }]);
  await batcher.flush();
  assert.equal(stored.length, 1);
});

test("nothing is stored before the batcher begins, and then all that was taken", async (t) => {
  const { batcher, stored } = batcherOf(t, { begun: false });
  batcher.take(epochs("A", 1));
  mock.timers.tick(60_000);
  await batcher.flush();
  assert.equal(stored.length, 0);
  batcher.begin();
  mock.timers.tick(1_000);
  assert.deepEqual(
    stored.map((batch) => batch.epochs!.points.map(({ epoch }) => epoch)),
    [[1]],
  );
});

test("a batch stays small while the store is away, and holds the newest epoch once it is back", async (t) => {
  const { batcher, stored, hold } = batcherOf(t);
  const release = hold();
  batcher.take(epochs("A", 1));
  mock.timers.tick(1_000);
  for (let epoch = 2; epoch <= 50_000; epoch++) {
    batcher.take(epochs("A", epoch));
    const ticker = `T${epoch}`;
    batcher.take({ kind: "failure", failure: { ticker, code: "fit_failed", message: "why" } });
    mock.timers.tick(1_000);
  }
  assert.equal(stored.length, 1, "one at a time");
  release();
  await turn();
  mock.timers.tick(1_000);
  assert.equal(stored.length, 2);
  const { epochs: batched, failures } = stored[1]!;
  assert.ok(batched!.points.length <= 202);
  assert.deepEqual(batched!.points.at(-1), {
    ticker: "A",
    epoch: 50_000,
    train_loss: 1 / 50_000,
    validation_loss: 1 / 50_000,
  });
  assert.equal(batched!.points.length + batched!.left_out!, 49_999);
  assert.equal(failures.length, 200);
  await batcher.flush();
});

test("the rest is stored at the end", async (t) => {
  const { batcher, stored } = batcherOf(t);
  batcher.take(epochs("portfolio", 1));
  await batcher.flush();
  assert.equal(stored[0]!.epochs!.points[0]!.ticker, "portfolio");
});
