import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { MucastError } from "../errors/errors.ts";
import { findModel, MODEL_NAMES } from "./models.ts";

describe("findModel", () => {
  const cases: [string, string, string, string][] = [
    ["random_forest", "random_forest", "sklearn", "RandomForestRegressor"],
    ["rf", "random_forest", "sklearn", "RandomForestRegressor"],
    ["xgboost", "xgboost", "xgboost", "XGBRegressor"],
    ["xgb", "xgboost", "xgboost", "XGBRegressor"],
    ["lightgbm", "lightgbm", "lightgbm", "LGBMRegressor"],
    ["lgbm", "lightgbm", "lightgbm", "LGBMRegressor"],
    ["catboost", "catboost", "catboost", "CatBoostRegressor"],
    ["linear", "linear", "sklearn", "LinearRegression"],
    ["linear_regression", "linear", "sklearn", "LinearRegression"],
    ["ridge", "ridge", "sklearn", "Ridge"],
    ["lasso", "lasso", "sklearn", "Lasso"],
    ["elastic_net", "elastic_net", "sklearn", "ElasticNet"],
    ["quantile", "quantile", "sklearn", "QuantileRegressor"],
  ];
  for (const [alias, name, library, className] of cases) {
    it(`reads ${alias} in any case`, () => {
      for (const written of [alias, alias.toUpperCase(), alias[0]!.toUpperCase() + alias.slice(1)]) {
        assert.deepEqual(findModel(written), { name, library, className });
      }
    });
  }

  it("knows no other names", () => {
    assert.deepEqual([...MODEL_NAMES].sort(), cases.map(([alias]) => alias).sort());
  });

  it("never falls back to another model, and suggests the nearest name", () => {
    for (const name of ["lightgbn", "", "svm", "__proto__", "toString", " ridge", "random forest"])
      assert.throws(
        () => findModel(name),
        (error: unknown) => {
          assert.ok(error instanceof MucastError);
          const { path, accepted } = error.data;
          assert.deepEqual(
            [error.code, path, accepted],
            ["unknown_model", "config.ML params.model", MODEL_NAMES],
          );
          return true;
        },
      );
    assert.throws(() => findModel("LightGBN"), /did you mean lightgbm\?/);
    assert.throws(() => findModel("random forest"), /did you mean random_forest\?/);
  });
});
