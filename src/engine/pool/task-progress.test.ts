import assert from "node:assert/strict";
import { test } from "node:test";
import type { EngineTask } from "./protocol.ts";
import { isProgressOf } from "./task-results.ts";

const epoch = { epoch: 3, train_loss: 0.1, validation_loss: 0.2 };
const training = { epochs: 3 };
const network = { task: "train_network", ticker: "A", member: 0, training };
// The fields of each task that are read.
const TASKS = {
  trial: { task: "trial" },
  one: network,
  joint: { task: "train_joint", training },
  stack: { task: "train_stack", networks: [network, { ...network, ticker: "B", member: 1 }] },
} as unknown as Record<string, EngineTask>;

test("the epochs of a network are progress of only its own task", () => {
  const told = [
    epoch,
    { ...epoch, ticker: "B", member: 1 },
    { ...epoch, ticker: "B", member: 0 },
    { ...epoch, ticker: "B", member: 1, epoch: 4 },
    { ...epoch, epoch: 0 },
    { ...epoch, epoch: "1" },
    { ...epoch, train_loss: null },
    { epoch: 1 },
    {},
  ];
  const taken = (name: string) =>
    told.flatMap((progress, i) => (isProgressOf(TASKS[name]!, progress) ? [i] : []));
  assert.deepEqual(taken("one"), [0, 1, 2]);
  assert.deepEqual(taken("joint"), [0, 1, 2]);
  assert.deepEqual(taken("stack"), [1]);
  assert.deepEqual(taken("trial"), []);
});
