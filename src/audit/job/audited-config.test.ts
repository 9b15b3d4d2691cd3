import assert from "node:assert/strict";
import { test } from "node:test";
import { parseDlSettings } from "../../contract/config/dl-settings.ts";
import { parseMlSettings } from "../../contract/config/ml-settings.ts";
import { auditedConfig } from "./audited-config.ts";

const ML = `{"ML params": {"model": "rf", "model_params": {"max_features": 1.0, "n_estimators": 9007199254740993},
  "importance": true, "n_splits": 3, "scaler": "robust", "intervals": {"alpha": 0.20}}, "their params": {"key": "secret"}}`;

test("the audit of run_ml_job runs the caller's own text, without the sections of other services", () => {
  const config = auditedConfig(ML, "run_ml_job", false);
  assert.ok(config.includes('"max_features":1.0,"n_estimators":9007199254740993') && config.includes("0.20"));
  assert.ok(!config.includes("secret"));
});

test("a quick one is ridge, with the folds, the scaler and the intervals of the config", () => {
  const { "ML params": params } = JSON.parse(auditedConfig(ML, "run_ml_job", true));
  const { model, model_params, ...rest } = params;
  assert.deepEqual([model, model_params], ["ridge", {}]);
  assert.deepEqual(rest, { n_splits: 3, scaler: "robust", intervals: { alpha: 0.2 } });
  parseMlSettings(auditedConfig(ML, "run_ml_job", true));
});

test("a quick one with a choice has ridge regressions as candidates, one for each way of comparing tickers", () => {
  const candidates = [
    { model: "lightgbm", grid: { num_leaves: [4, 8] } },
    { fit: "pooled", target: "relative", model_params: { max_features: 0.5 } },
    { model: "lasso", label: "lasso" },
  ];
  const choice = { candidates, rule: "best", warm_up: 4 };
  const config = JSON.stringify({ "ML params": { model: "rf", ensemble: 3, choice } });
  const quick = auditedConfig(config, "run_ml_job", true);
  const model_params = { alpha: 100 };
  assert.deepEqual(JSON.parse(quick)["ML params"].choice, {
    ...choice,
    candidates: [{ model_params }, { fit: "pooled", target: "relative", model_params }],
  });
  parseMlSettings(quick);
});

test("networks train on the CPU; a quick one is the same network for two epochs", () => {
  const dot = { "current option": "mlp", training_params: { epochs: 50, patience: 9, ensemble: 5 } };
  const given = JSON.stringify({ "NN params": { "Dot prediction": dot, other: {} }, "ML params": {} });
  const read = (quick: boolean) => {
    const text = auditedConfig(given, "run_dl_job", quick);
    parseDlSettings(text);
    return JSON.parse(text)["NN params"]["Dot prediction"];
  };
  assert.deepEqual(read(false), { ...dot, global_settings: { device: "cpu" } });
  assert.deepEqual(read(true).training_params, { epochs: 2, patience: 9 });
});

test("a quick one of networks with a choice has the same network for one epoch as its candidate", () => {
  const candidates = [
    { "current option": "lstm", training_params: { epochs: 90 } },
    { target: "relative", training_params: { patience: 2 } },
  ];
  const dot = { "current option": "mlp", choice: { candidates, rule: "best" } };
  const config = JSON.stringify({ "NN params": { "Dot prediction": dot } });
  const quick = auditedConfig(config, "run_dl_job", true);
  const training_params = { epochs: 1 };
  assert.deepEqual(JSON.parse(quick)["NN params"]["Dot prediction"].choice, {
    candidates: [{ training_params }, { target: "relative", training_params }],
    rule: "best",
  });
  parseDlSettings(quick);
});
