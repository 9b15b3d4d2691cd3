import assert from "node:assert/strict";
import { test } from "node:test";
import { bestOf, lossesOf, networkOf } from "./training.ts";

function point(ticker: string, epoch: number, train_loss: number | null, validation_loss: number | null) {
  return { ticker, epoch, train_loss, validation_loss };
}

test("the losses of a network are in the order of its epochs, and the best has the smallest validation loss", () => {
  const points = [
    point("A", 2, 0.5, 0.6),
    point("B", 1, 9, 9),
    point("A", 1, 0.9, 1),
    point("A", 3, 0.4, null),
  ];
  const losses = lossesOf(points, "A");
  assert.deepEqual(losses, [
    { epoch: 1, train_loss: 0.9, validation_loss: 1 },
    { epoch: 2, train_loss: 0.5, validation_loss: 0.6 },
    { epoch: 3, train_loss: 0.4, validation_loss: null },
  ]);
  assert.equal(bestOf(losses)?.epoch, 2);
  assert.equal(networkOf({ ...points[0]!, member: 1 }), "A member 1", "members of an ensemble are networks");
});

test("the median is of finite losses, at the epochs that half of the networks have reached", () => {
  const first = [point("A", 1, 1, 2), point("B", 1, 3, 2), point("C", 1, null, 2)];
  const later = [point("B", 2, 5, null), point("C", 2, null, null), point("B", 3, 7, 8)];
  assert.deepEqual(lossesOf([...first, ...later]), [
    { epoch: 1, train_loss: 2, validation_loss: 2 },
    { epoch: 2, train_loss: 5, validation_loss: null },
  ]);
});
