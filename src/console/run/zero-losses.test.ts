import assert from "node:assert/strict";
import { test } from "node:test";
import { dlText } from "../../outputs/outputs.testing.ts";
import { zeroLossesIn } from "./zero-losses.ts";

test("the zero losses of an output have the names of its networks in the events", () => {
  const output = JSON.parse(dlText({ tickers: ["A", "B"] }));
  assert.deepEqual([...zeroLossesIn(output).keys()], ["A", "B"]);
  assert.equal(zeroLossesIn(output).get("A"), output.training.A.zero_validation_loss);
  output.training.A.members = [{ member: 1, zero_validation_loss: 0.5 }];
  assert.deepEqual([...zeroLossesIn(output).keys()], ["A member 0", "A member 1", "B"]);
  delete output.training.B.zero_validation_loss;
  assert.ok(!zeroLossesIn(output).has("B"), "an older version does not record it");
});

test("with refits, the output describes other networks than the events, and an output of regressors has none", () => {
  const output = JSON.parse(dlText({ tickers: ["A"] }));
  assert.equal(zeroLossesIn({ ...output, refits: { blocks: [] } }).size, 0);
  assert.equal(zeroLossesIn({}).size, 0);
});
