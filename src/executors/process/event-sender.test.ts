import assert from "node:assert/strict";
import { mock, test } from "node:test";
import type { EventBatch, Progress } from "../../contract/output/job-events.ts";
import { EventSender } from "./event-sender.ts";

function epoch(ticker: string, epoch: number): Progress {
  const losses = { train_loss: 1, validation_loss: 2 };
  return { kind: "progress", stage: "fit", done: epoch, total: 9, ticker, epoch, ...losses };
}

function senderOf() {
  const batches: EventBatch[] = [];
  const send = async (batch: EventBatch) => void batches.push(batch);
  return { batches, sender: new EventSender(send) };
}

test("sends the reports of one second as one batch, with all epochs and the newest progress", (t) => {
  mock.timers.enable({ apis: ["setTimeout"] });
  t.after(() => mock.timers.reset());
  const { batches, sender } = senderOf();
  for (const nth of [1, 2, 3]) sender.report(epoch("A", nth));
  mock.timers.tick(999);
  assert.equal(batches.length, 0);
  mock.timers.tick(1);
  const losses = { train_loss: 1, validation_loss: 2 };
  const points = [1, 2, 3].map((epoch) => ({ ticker: "A", epoch, ...losses }));
  assert.deepEqual(batches, [{ epochs: { points }, progress: { stage: "fit", done: 3, total: 9 } }]);
  sender.report(epoch("B", 9));
  sender.report({ kind: "progress", stage: "evaluate", done: 0 });
  sender.flush();
  assert.deepEqual(batches[1], {
    epochs: { points: [{ ticker: "B", epoch: 9, ...losses }] },
    progress: { stage: "evaluate", done: 0, total: null },
  });
  mock.timers.tick(5_000);
  sender.flush();
  assert.equal(batches.length, 2, "nothing more was reported");
});

test("gathers events while the service has not read the batch before", async (t) => {
  mock.timers.enable({ apis: ["setTimeout"] });
  t.after(() => mock.timers.reset());
  const batches: EventBatch[] = [];
  const read = Promise.withResolvers<void>();
  const sender = new EventSender((batch) => {
    batches.push(batch);
    return read.promise;
  });
  for (const nth of [1, 2, 3]) {
    sender.report(epoch("A", nth));
    mock.timers.tick(10_000);
  }
  assert.deepEqual(
    batches.map(({ progress }) => progress?.done),
    [1],
  );
  read.resolve();
  await read.promise;
  mock.timers.tick(1_000);
  assert.deepEqual(
    batches.map(({ progress }) => progress?.done),
    [1, 3],
  );
});

test("sends the first 200 failures and warnings of a job and counts all of them", () => {
  const { batches, sender } = senderOf();
  for (let i = 0; i < 1_000; i++) {
    const code = i % 4 === 0 ? "diverged" : "fit_failed";
    sender.report({ kind: "failure", failure: { ticker: `T${i}`, code, message: "why" } });
    sender.report({ kind: "warning", warning: { code: "no_prices", ticker: `U${i}`, message: "why" } });
    if (i % 150 === 0) sender.flush();
  }
  sender.flush();
  assert.equal(batches.flatMap(({ failures = [] }) => failures).length, 200);
  assert.equal(batches.flatMap(({ warnings = [] }) => warnings).length, 200);
  assert.deepEqual(batches.at(-1), {
    counts: { warnings: { no_prices: 1_000 }, failures: { diverged: 250, fit_failed: 750 } },
  });
});
