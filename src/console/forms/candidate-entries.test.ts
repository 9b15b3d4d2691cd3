import assert from "node:assert/strict";
import { test } from "node:test";
import { parseMlSettings } from "../../contract/config/ml-settings.ts";
import { type RawJson, rawNumbers } from "../../contract/json/json-text.ts";
import { choiceSize, entrySize, entryWords, readGrid, sizeWords } from "./candidate-entries.ts";

test("lines become values by parameter, which keep the spelling of numbers", () => {
  const grid = readGrid(
    'alpha = 1.0, 1e3\n\n solver=svd, "lsqr"\nhidden = [1, 2], null, true\nmixed = auto, 0.5',
  );
  assert.equal(
    JSON.stringify(grid),
    '{"alpha":[1.0,1e3],"solver":["svd","lsqr"],"hidden":[[1,2],null,true],"mixed":["auto",0.5]}',
  );
  assert.deepEqual(readGrid(" \n"), {});
});

for (const [text, message] of [
  ["alpha", /Write "alpha" as: name = value, value/],
  ["= 1", /Write "= 1"/],
  ["alpha =", /Write "alpha ="/],
  ["a = 1\na = 2", /a has two lines/],
] as const) {
  test(`a wrong line is named: ${JSON.stringify(text)}`, () => {
    assert.throws(() => readGrid(text), message);
  });
}

const ENTRIES = [
  { model: "lasso", model_params: { alpha: 0.001 } },
  { model: "lightgbm", fit: "pooled", grid: { n_estimators: [50, 100, 200], num_leaves: [2, 4] } },
  { label: "drawn", draws: 7, draw: { alpha: { log: [0.1, 10] } } },
];

test("the number of candidates is the one that a job resolves", () => {
  const entries = rawNumbers(JSON.stringify(ENTRIES)) as RawJson[];
  const config = { "ML params": { model: "ridge", choice: { candidates: ENTRIES } } };
  const { settings } = parseMlSettings(JSON.stringify(config));
  assert.equal(choiceSize(entries, 0).candidates, settings.choice!.candidates.length);
  assert.deepEqual(entries.map(entrySize), [1, 6, 7]);
  assert.deepEqual(entries.map(entryWords), [
    "lasso alpha = 0.001",
    "lightgbm pooled n_estimators = 50, 100, 200; num_leaves = 2, 4",
    "drawn: as in this config, but 7 draws of alpha",
  ]);
});

test("an entry of networks names the network and what it sets", () => {
  const entry = {
    "current option": "mlp",
    training_params: { learning_rate: 0.001 },
    models_params: { mlp: { hidden_dims: [8, 4] } },
    grid: { lookback: [5, 20] },
  };
  assert.equal(entryWords(entry), "mlp learning_rate = 0.001 hidden_dims = 8, 4 lookback = 5, 20");
  assert.equal(sizeWords(choiceSize([entry], undefined)), "3 candidates with the config itself.");
});

test("fits are counted with those of the config itself", () => {
  assert.equal(sizeWords(choiceSize([{}], 20)), "2 candidates with the config itself, 42 fits per ticker.");
  assert.equal(entrySize("x"), 1);
});
