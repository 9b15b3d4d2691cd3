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

test("an epoch is reported once with its losses, and those that early stopping saves count as done at the end", () => {
  const { events, done } = reported((count) => {
    for (const epoch of [1, 2, 1, 2, 3]) count.epoch(AAA!, 0, { epoch, ...losses });
    count.epoch(BBB!, 0, { epoch: 10, ...losses });
    count.finish(AAA!, 0);
    count.finish(BBB!, 0);
  });
  const share = { kind: "progress", stage: "fit", done: 1, total: 20 };
  assert.deepEqual(events[0], { ...share, ticker: "AAA", epoch: 1, ...losses });
  assert.deepEqual(done, [1, 2, 2, 2, 3, 13, 20]);
});

test("epochs name the member of an ensemble, and those of later blocks are counted without their losses", () => {
  const { events } = reported((count) => {
    count.epoch(AAA!, 0, { epoch: 1, ...losses });
    count.finish(AAA!, 1);
    count.finishAll(AAA!);
    count.epoch({ ...AAA!, block: 1 }, 0, { epoch: 1, ...losses });
  }, 3);
  assert.deepEqual(
    events.map(({ done, total, member, epoch }) => [done, total, member, epoch]),
    [
      [1, 60, 0, 1],
      [11, 60, undefined, undefined],
      [20, 60, undefined, undefined],
      [30, 60, undefined, undefined],
      [31, 60, undefined, undefined],
    ],
  );
});
