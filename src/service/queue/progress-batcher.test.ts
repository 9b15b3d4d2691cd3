import assert from "node:assert/strict";
import { mock, test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import type { EpochPoint, ExecutionEvent } from "../../contract/api/job-events.ts";
import type { ProgressBatch } from "../store/record-progress.ts";
import { ProgressBatcher } from "./progress-batcher.ts";

function epochs(ticker: string, epoch: number): ExecutionEvent {
  const point: EpochPoint = { ticker, epoch, train_loss: 1 / epoch, validation_loss: 1 / epoch };
  return { kind: "epochs", epochs: { points: [point] } };
}

/** A feed whose store is a list, and may be held up; the clock is the test's. */
function feedOf(t: { after: (end: () => void) => void }) {
  mock.timers.enable({ apis: ["setTimeout"] });
  t.after(() => mock.timers.reset());
  const stored: ProgressBatch[] = [];
  let held: Promise<void> = Promise.resolve();
  const feed = new ProgressBatcher(
    async (news) => {
      stored.push(news);
      await held;
    },
    (error) => assert.fail(error as Error),
  );
  const hold = () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    held = promise;
    return resolve;
  };
  return { feed, stored, hold };
}

test("what is told within a second is handed on at once, epochs as one list", async (t) => {
  const { feed, stored } = feedOf(t);
  for (let epoch = 1; epoch <= 3; epoch++) {
    feed.take(epochs("A", epoch));
    feed.take({ kind: "progress", stage: "fit", done: epoch });
  }
  feed.take({ kind: "failure", failure: { ticker: "B", code: "diverged", message: "B" } });
  feed.take({ kind: "counts", warnings: {}, failures: { diverged: 1 } });
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
  await feed.end();
  assert.equal(stored.length, 1);
});

test("while the store is away, what waits for it stays small, and the newest is there once it is back", async (t) => {
  const { feed, stored, hold } = feedOf(t);
  const release = hold();
  feed.take(epochs("A", 1));
  mock.timers.tick(1_000);
  for (let epoch = 2; epoch <= 50_000; epoch++) {
    feed.take(epochs("A", epoch));
    const ticker = `T${epoch}`;
    feed.take({ kind: "failure", failure: { ticker, code: "fit_failed", message: "why" } });
    mock.timers.tick(1_000);
  }
  assert.equal(stored.length, 1, "one at a time");
  release();
  await turn();
  mock.timers.tick(1_000);
  assert.equal(stored.length, 2);
  const { epochs: told, failures } = stored[1]!;
  assert.ok(told!.points.length <= 202);
  assert.deepEqual(told!.points.at(-1), {
    ticker: "A",
    epoch: 50_000,
    train_loss: 1 / 50_000,
    validation_loss: 1 / 50_000,
  });
  assert.equal(told!.points.length + told!.left_out!, 49_999);
  assert.equal(failures.length, 200);
  await feed.end();
});

test("what is left is stored at the end", async (t) => {
  const { feed, stored } = feedOf(t);
  feed.take(epochs("portfolio", 1));
  await feed.end();
  assert.equal(stored[0]!.epochs!.points[0]!.ticker, "portfolio");
});
