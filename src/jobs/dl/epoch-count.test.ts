import assert from "node:assert/strict";
import { test } from "node:test";
import type { JobEvent } from "../../contract/output/job-events.ts";
import { type CountedNetwork, EpochCount } from "./epoch-count.ts";

function reported(body: (count: EpochCount) => void, ensemble = 1): JobEvent[] {
  const events: JobEvent[] = [];
  body(new EpochCount(2, { epochs: 10, ensemble }, (event) => events.push(event)));
  return events;
}

const [AAA, BBB] = ["AAA", "BBB"].map((name) => ({ name, block: 0 })) as [CountedNetwork, CountedNetwork];

const losses = { train_loss: 1, validation_loss: 2 };
const done = (events: readonly JobEvent[]) =>
  events.map((event) => (event.kind === "progress" ? event.done : undefined));

test("an epoch is reported with its ticker and losses, as a share of the epochs of all networks", () => {
  const [event] = reported((count) => count.epoch(AAA, 0, { epoch: 1, ...losses }));
  assert.deepEqual(event, {
    kind: "progress",
    stage: "fit",
    done: 1,
    total: 20,
    ticker: "AAA",
    epoch: 1,
    ...losses,
  });
});

test("epochs that early stopping saves count as done when the network is done", () => {
  const events = reported((count) => {
    count.epoch(AAA, 0, { epoch: 1, ...losses });
    count.epoch(BBB, 0, { epoch: 1, ...losses });
    count.epoch(AAA, 0, { epoch: 2, ...losses });
    count.finish(AAA, 0);
    count.finish(BBB, 0);
  });
  assert.deepEqual(done(events), [1, 2, 3, 11, 20]);
});

test("epochs that a second attempt repeats are not counted again", () => {
  const events = reported((count) => {
    for (const epoch of [1, 2, 3, 1, 2, 3, 4]) count.epoch(AAA, 0, { epoch, ...losses });
  });
  assert.deepEqual(done(events), [1, 2, 3, 3, 3, 3, 4]);
});

test("a network that trained all its epochs does not also report its end", () => {
  const events = reported((count) => {
    count.epoch(AAA, 0, { epoch: 10, ...losses });
    count.finish(AAA, 0);
  });
  assert.deepEqual(done(events), [10]);
});

test("each member of an ensemble counts separately, and its epochs name it", () => {
  const events = reported((count) => {
    count.epoch(AAA, 0, { epoch: 1, ...losses });
    count.epoch(AAA, 1, { epoch: 1, ...losses });
    count.finish(AAA, 1);
    count.finishAll(AAA);
  }, 3);
  assert.deepEqual(done(events), [1, 2, 11, 20, 30]);
  assert.deepEqual(
    events.map((event) => event.kind === "progress" && [event.total, event.member]),
    [0, 1, undefined, undefined, undefined].map((member) => [60, member]),
  );
});

test("epochs of later blocks are counted, and their losses are not reported", () => {
  const events = reported((count) => {
    const later = { ...AAA, block: 1 };
    count.epoch(AAA, 0, { epoch: 1, ...losses });
    count.epoch(later, 0, { epoch: 1, ...losses });
    count.epoch(later, 0, { epoch: 1, ...losses });
    count.finish(later, 0);
  });
  assert.deepEqual(done(events), [1, 2, 11]);
  assert.deepEqual(
    events.map((event) => "epoch" in event),
    [true, false, false],
  );
});
