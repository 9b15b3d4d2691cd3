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

  for (const name of ["lightgbn", "", "svm", "__proto__", "toString", " ridge", "random forest"]) {
    it(`never falls back to another model for ${JSON.stringify(name)}`, () => {
      assert.throws(
        () => findModel(name),
        (error: unknown) => {
          assert.ok(error instanceof MucastError);
          assert.equal(error.code, "unknown_model");
          assert.equal(error.data.path, "config.ML params.model");
          assert.deepEqual(error.data.accepted, MODEL_NAMES);
          return true;
        },
      );
    });
  }

  it("suggests the nearest name", () => {
    assert.throws(() => findModel("LightGBN"), /did you mean lightgbm\?/);
    assert.throws(() => findModel("random forest"), /did you mean random_forest\?/);
  });
});
