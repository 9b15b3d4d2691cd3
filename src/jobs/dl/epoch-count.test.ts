import assert from "node:assert/strict";
import { test } from "node:test";
import type { JobEvent } from "../../contract/output/job-events.ts";
import { EpochCount } from "./epoch-count.ts";

function reported(body: (count: EpochCount) => void): JobEvent[] {
  const events: JobEvent[] = [];
  body(new EpochCount(2, 10, (event) => events.push(event)));
  return events;
}

const losses = { train_loss: 1, validation_loss: 2 };
const done = (events: readonly JobEvent[]) =>
  events.map((event) => (event.kind === "progress" ? event.done : undefined));

test("an epoch is reported with its ticker and losses, over the epochs of all networks", () => {
  const [event] = reported((count) => count.epoch("AAA", { epoch: 1, ...losses }));
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

test("epochs that early stopping saves count as done when the network is", () => {
  const events = reported((count) => {
    count.epoch("AAA", { epoch: 1, ...losses });
    count.epoch("BBB", { epoch: 1, ...losses });
    count.epoch("AAA", { epoch: 2, ...losses });
    count.finish("AAA");
    count.finish("BBB");
  });
  assert.deepEqual(done(events), [1, 2, 3, 11, 20]);
});

test("epochs that a second attempt repeats are not counted again", () => {
  const events = reported((count) => {
    for (const epoch of [1, 2, 3, 1, 2, 3, 4]) count.epoch("AAA", { epoch, ...losses });
  });
  assert.deepEqual(done(events), [1, 2, 3, 3, 3, 3, 4]);
});

test("a network that trained all its epochs does not report its end again", () => {
  const events = reported((count) => {
    count.epoch("AAA", { epoch: 10, ...losses });
    count.finish("AAA");
  });
  assert.deepEqual(done(events), [10]);
});
