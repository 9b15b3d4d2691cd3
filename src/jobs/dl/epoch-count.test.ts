import assert from "node:assert/strict";
import { test } from "node:test";
import type { JobEvent } from "../../contract/output/job-events.ts";
import { EpochCount } from "./epoch-count.ts";
import { series } from "./train-networks.testing.ts";

const [AAA, BBB] = ["AAA", "BBB"].map((name) => ({ series: series(name), block: 0, learned: 0 }));
const losses = { train_loss: 1, validation_loss: 2 };

/** The events of two networks of 10 epochs. */
function reported(body: (count: EpochCount) => void, ensemble = 1) {
  const events: Extract<JobEvent, { kind: "progress" }>[] = [];
  const report = (event: JobEvent) => {
    if (event.kind === "progress") events.push(event);
  };
  body(new EpochCount(2, { epochs: 10, ensemble, report }));
  return { events, done: events.map((event) => event.done) };
}

test("an epoch is reported with its ticker and losses, as a share of the epochs of all networks", () => {
  const { events } = reported((count) => count.epoch(AAA!, 0, { epoch: 1, ...losses }));
  const share = { kind: "progress", stage: "fit", done: 1, total: 20 };
  assert.deepEqual(events, [{ ...share, ticker: "AAA", epoch: 1, ...losses }]);
});

test("epochs that early stopping saves count as done when the network is done, and those that a second attempt repeats once", () => {
  const { done } = reported((count) => {
    for (const epoch of [1, 2, 1, 2, 3]) count.epoch(AAA!, 0, { epoch, ...losses });
    count.epoch(BBB!, 0, { epoch: 10, ...losses });
    count.finish(AAA!, 0);
    count.finish(BBB!, 0);
  });
  assert.deepEqual(done, [1, 2, 2, 2, 3, 13, 20]);
});

test("each member of an ensemble counts separately, and its epochs name it", () => {
  const { events, done } = reported((count) => {
    count.epoch(AAA!, 0, { epoch: 1, ...losses });
    count.finish(AAA!, 1);
    count.finishAll(AAA!);
  }, 3);
  assert.deepEqual(done, [1, 11, 20, 30]);
  assert.deepEqual(
    events.map(({ total, member }) => [total, member]),
    [0, undefined, undefined, undefined].map((member) => [60, member]),
  );
});

test("epochs of later blocks are counted, and their losses are not reported", () => {
  const { events } = reported((count) => {
    count.epoch({ ...AAA!, block: 1 }, 0, { epoch: 1, ...losses });
    count.finish({ ...AAA!, block: 1 }, 0);
  });
  assert.deepEqual(
    events.map((event) => [event.done, "epoch" in event]),
    [
      [1, false],
      [10, false],
    ],
  );
});
