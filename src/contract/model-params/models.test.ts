import assert from "node:assert/strict";
import { test } from "node:test";
import { findModel, MODEL_NAMES, MODELS } from "./models.ts";

const ALIASES = { rf: "random_forest", xgb: "xgboost", lgbm: "lightgbm", linear_regression: "linear" };

test("a model is found by its name and its alias, in any case", () => {
  const names = { ...Object.fromEntries(MODELS.map(({ name }) => [name, name])), ...ALIASES };
  assert.deepEqual([...MODEL_NAMES].sort(), Object.keys(names).sort());
  for (const [alias, name] of Object.entries(names)) {
    for (const text of [alias, alias.toUpperCase(), alias[0]!.toUpperCase() + alias.slice(1)])
      assert.equal(findModel(text).name, name);
  }
});

test("another name is an error, never another model, and gets the nearest name", () => {
  for (const name of ["lightgbn", "", "svm", "__proto__", "toString", " ridge", "random forest"])
    assert.throws(() => findModel(name), { code: "unknown_model" });
  assert.throws(() => findModel("LightGBN"), /did you mean lightgbm\?/);
  assert.throws(() => findModel("random forest"), /did you mean random_forest\?/);
});
