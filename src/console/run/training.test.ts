import assert from "node:assert/strict";
import { test } from "node:test";
import { bestOf, TrainingCurves } from "./training.ts";

function point(
  ticker: string,
  epoch: number,
  train: number | null,
  validation: number | null,
  member?: number,
) {
  return {
    ticker,
    epoch,
    train_loss: train,
    validation_loss: validation,
    ...(member === undefined ? {} : { member }),
  };
}

test("repeated or unordered epochs appear once each, by epoch", () => {
  const curves = new TrainingCurves();
  curves.add({ points: [point("A", 2, 0.5, 0.6), point("A", 1, 0.9, 1)] });
  curves.add({ points: [point("A", 2, 0.5, 0.6), point("A", 3, 0.4, null)], left_out: 4 });
  const points = curves.of("A");
  assert.deepEqual(
    points.map(({ epoch, train, validation }) => [epoch, train, validation]),
    [
      [1, 0.9, 1],
      [2, 0.5, 0.6],
      [3, 0.4, null],
    ],
  );
  assert.equal(bestOf(points)?.epoch, 2);
  assert.equal(curves.leftOut, 4);
});

test("the median is of finite losses, at the epochs that half of the networks have reached", () => {
  const curves = new TrainingCurves();
  for (const [ticker, loss] of [
    ["A", 1],
    ["B", 3],
    ["C", null],
  ] as const)
    curves.add({ points: [point(ticker, 1, loss, 2)] });
  curves.add({ points: [point("B", 2, 5, null), point("C", 2, null, null), point("B", 3, 7, 8)] });
  assert.deepEqual(curves.median(), [
    { epoch: 1, train: 2, validation: 2 },
    { epoch: 2, train: 5, validation: null },
  ]);
});

test("members of an ensemble are separate networks", () => {
  const curves = new TrainingCurves();
  curves.add({ points: [point("A", 1, 1, 1, 0), point("A", 1, 1, 1, 1), point("B", 1, 1, 1)] });
  assert.deepEqual(curves.networks, ["A member 0", "A member 1", "B"]);
});
