import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { parseMlSettings } from "../../../contract/config/ml-settings.ts";
import { treeCountOf } from "./tree-counts.ts";

function countOf(params: object) {
  return treeCountOf(parseMlSettings(JSON.stringify({ "ML params": params })).settings);
}

const LIGHTGBM = { model: "lightgbm", model_params: { n_estimators: 50, num_leaves: 4 } };

describe("candidates that differ in the number of trees alone", () => {
  const models: readonly (readonly [name: string, one: object, other: object])[] = [
    ["lightgbm", { num_iterations: 50 }, { n_estimators: 80 }],
    ["xgboost", { n_estimators: 50, subsample: 0.5 }, { subsample: 0.5 }],
    ["catboost", { iterations: 50, learning_rate: 0.1 }, { n_estimators: 80, learning_rate: 0.1 }],
    ["random_forest", { n_estimators: 50 }, {}],
  ];
  for (const [model, one, other] of models) {
    test(`are one group: ${model}`, () => {
      const [a, b] = [one, other].map((model_params) => countOf({ model, model_params }));
      assert.equal(a!.trees, 50);
      assert.notEqual(a!.trees, b!.trees);
      assert.equal(a!.group, b!.group);
    });
  }

  const others: readonly object[] = [
    { ...LIGHTGBM, model_params: { n_estimators: 50, num_leaves: 5 } },
    { ...LIGHTGBM, scaler: "standard" },
    { ...LIGHTGBM, fit: "pooled" },
    { ...LIGHTGBM, target: "relative" },
    { ...LIGHTGBM, cross_section: true },
    { model: "xgboost", model_params: { n_estimators: 50 } },
  ];
  for (const other of others) {
    test(`are not those with ${JSON.stringify(other)}`, () => {
      assert.notEqual(countOf(other)!.group, countOf(LIGHTGBM)!.group);
    });
  }
});

describe("fits whose first trees depend on how many follow are not shared", () => {
  const alone: readonly object[] = [
    { model: "ridge" },
    { model: "lightgbm", model_params: { boosting_type: "dart" } },
    { model: "lightgbm", model_params: { boosting_type: "gbdt", linear_tree: true } },
    { model: "xgboost", model_params: { booster: "gblinear" } },
    { model: "xgboost", model_params: { booster: "dart" } },
    { model: "catboost", model_params: { iterations: 50 } },
    { model: "catboost", model_params: { iterations: 50, learning_rate: null } },
    { model: "catboost", model_params: { iterations: 50, learning_rate: 0.1, langevin: true } },
    { model: "catboost", model_params: { iterations: 50, learning_rate: 0.1, grow_policy: "Lossguide" } },
    { model: "random_forest", fit: "pooled" },
    { model: "lightgbm", model_params: { n_estimators: 50.0, extra_seed: 3 } },
  ];
  for (const params of alone) test(JSON.stringify(params), () => assert.equal(countOf(params), undefined));
});
