import assert from "node:assert/strict";
import { test } from "node:test";
import { formSchemasText } from "../../service/http/page-routes.ts";
import { readTree } from "./draft.ts";
import { readForms } from "./schema.ts";
import { differencesOf, isChanged, settingName, settingsOf } from "./settings.ts";

const forms = readForms(formSchemasText());

const settings = (operation: string, payload: object | string) =>
  settingsOf(
    operation,
    readTree(typeof payload === "string" ? payload : JSON.stringify(payload), "payload"),
    forms,
  );

const named = (operation: string, payload: object | string) =>
  settings(operation, payload).map((setting) => [settingName(setting), setting.value, setting.byDefault]);

test("the settings of a job have the defaults of its schema and of its model, and numbers keep their spelling", () => {
  const text = `{"feature_url": "https://a/data/f", "data_extractor_url": "d", "tags": ["a"], "start": "2024-01-02",
    "config": {"ML params": {"model": "Ridge", "n_splits": 15, "model_params": {"alpha": 1.0, "fit_intercept": false},
      "intervals": {"alpha": 0.20}, "scaler": "standard"}, "other": {"secret": "x"}}}`;
  assert.deepEqual(named("run_ml_job", text), [
    ["feature_url", "f", undefined],
    ["data_extractor_url", "d", undefined],
    ["start", "2024-01-02", undefined],
    ["model", "Ridge", undefined],
    ["n_splits", "15", "15"],
    ["model_params.alpha", "1.0", "1.0"],
    ["model_params.fit_intercept", "false", "true"],
    ["intervals.alpha", "0.20", "0.1"],
    ["scaler", "standard", "none"],
    ["other.secret", "x", undefined],
  ]);
  assert.deepEqual(
    settings("run_ml_job", text)
      .filter((setting) => !isChanged(setting))
      .map(settingName),
    ["n_splits", "model_params.alpha"],
  );
});

test("another spelling of a default is no change", () => {
  const isOther = (value: string, byDefault: string | undefined) =>
    isChanged({ path: ["x"], value, byDefault });
  assert.deepEqual(
    [isOther("1", "1.0"), isOther("1e-3", "0.001"), isOther("-2.50", "-2.5")],
    [false, false, false],
  );
  assert.deepEqual(
    [isOther("1", "2"), isOther("", "0"), isOther("true", "1"), isOther("1", undefined)],
    [true, true, true, true],
  );
});

test("settings of networks and audits have the defaults of their job, and a replay or another operation has none", () => {
  const config = {
    "NN params": { "Dot prediction": { "current option": "lstm", training_params: { epochs: 20 } } },
  };
  const expected = [
    ["current option", "lstm", undefined],
    ["training_params.epochs", "20", "20"],
  ];
  assert.deepEqual(named("run_dl_job", { config }), expected);
  assert.deepEqual(named("audit", { operation: "run_dl_job", config }).slice(1), expected);
  assert.deepEqual(named("replay", { portable: true }), [["portable", "true", undefined]]);
  assert.deepEqual(named("later_job", { config: { x: [1, { y: "\u202e" }], z: {} } }), [
    ["x", '[1,{"y":"\\u202e"}]', undefined],
    ["z", "{}", undefined],
  ]);
  assert.deepEqual(named("run_ml_job", { config: { "ML params": { model: "constructor" } } }), [
    ["model", "constructor", undefined],
  ]);
});

test("payloads differ in settings that one of them has with another value, and a missing one counts as its default", () => {
  const ml = (params: object, more: object = {}) =>
    settings("run_ml_job", { config: { "ML params": params }, ...more });
  const found = differencesOf([
    ml({ model: "ridge", n_splits: 15, cv_test_size: 5 }),
    ml({ model: "lasso", cv_test_size: 5 }),
    ml({ model: "ridge", cv_test_size: 5, target: "relative" }, { start: "2024-01-02" }),
  ]);
  assert.deepEqual(
    found.map((difference) => [settingName(difference), difference.values.map((each) => each?.value)]),
    [
      ["model", ["ridge", "lasso", "ridge"]],
      ["target", [undefined, undefined, "relative"]],
      ["start", [undefined, undefined, "2024-01-02"]],
    ],
  );
  assert.deepEqual(differencesOf([ml({ model: "ridge" }), ml({ model: "ridge" })]), []);
});
