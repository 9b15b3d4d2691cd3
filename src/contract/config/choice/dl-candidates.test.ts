import assert from "node:assert/strict";
import { test } from "node:test";
import type { MucastError } from "../../errors/errors.ts";
import { parseDlSettings } from "../dl-settings.ts";

const OWN = { "current option": "lstm", training_params: { epochs: 7, learning_rate: 0.01 } };

function choiceOf(candidates: readonly unknown[], own: object = OWN) {
  const text = JSON.stringify({ "NN params": { "Dot prediction": { ...own, choice: { candidates } } } });
  return parseDlSettings(text).settings.choice!;
}

function refusal(candidates: readonly unknown[], own?: object): MucastError {
  try {
    choiceOf(candidates, own);
  } catch (error) {
    return error as MucastError;
  }
  throw new Error("accepted");
}

test("a candidate is the config itself with the members that it sets", () => {
  const { candidates } = choiceOf([
    { "current option": "mlp", models_params: { mlp: { hidden_dims: [8] } } },
    { training_params: { learning_rate: 0.001 }, data_processing: { lookback: 5 }, target: "relative" },
  ]);
  assert.deepEqual(
    candidates.map(({ settings: { network, training, lookback, target, calibrates, joint } }) => [
      ...[network.architecture, training.epochs, training.learning_rate, lookback, target, calibrates, joint],
    ]),
    [
      ["lstm", 7, 0.01, 10, "return", true, false],
      ["mlp", 7, 0.01, 10, "return", true, false],
      ["lstm", 7, 0.001, 5, "relative", true, false],
    ],
  );
  assert.deepEqual(
    candidates.map(({ label }) => label),
    ["lstm", "mlp hidden_dims=[8]", "lstm relative learning_rate=0.001 lookback=5"],
  );
});

test("values of a search belong to the section that has their name", () => {
  const grid = { learning_rate: [0.1, 0.2], lookback: [3], hidden_dims: [[4], [8, 4]] };
  const { candidates } = choiceOf([{ "current option": "mlp", grid }]);
  assert.deepEqual(
    candidates
      .slice(1)
      .map(({ settings: { network, training, lookback } }) => [
        ...[training.learning_rate, lookback, "hidden_dims" in network && network.hidden_dims],
      ]),
    [
      [0.1, 3, [4]],
      [0.1, 3, [8, 4]],
      [0.2, 3, [4]],
      [0.2, 3, [8, 4]],
    ],
  );
});

test("faults name the candidate, and equal candidates are refused", () => {
  const { data } = refusal([
    { training_params: { epochs: 0 } },
    { "current option": "lstn" },
    { grid: { widht: [1] } },
  ]);
  assert.deepEqual(
    data.faults!.map(({ path }) => path),
    [
      "config.NN params.Dot prediction.choice.candidates[0].training_params.epochs",
      "config.NN params.Dot prediction.choice.candidates[1].current option",
      "config.NN params.Dot prediction.choice.candidates[2].models_params.lstm.widht",
    ],
  );
  assert.match(refusal([{ training_params: { epochs: 7 } }]).message, /is the same as candidate 0/);
  const joint = { "current option": "portfolio_lstm", training_params: { monitor: "ic" } };
  assert.match(
    refusal([{ "current option": "mlp" }], joint).message,
    /candidates\[0\]\.training_params\.monitor: must be loss for mlp/,
  );
});
