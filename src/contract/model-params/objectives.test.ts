import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { MucastError } from "../errors/errors.ts";
import { rawNumbers } from "../json/json-text.ts";
import { parametersOf } from "./catalogue.ts";
import { findModel, MODELS } from "./models.ts";
import { objectivesOf } from "./objectives.ts";
import { type RawObject, resolveModelParams } from "./resolve.ts";

function outcome(model: string, params: object): string {
  const rawParams = rawNumbers(JSON.stringify(params)) as RawObject;
  try {
    resolveModelParams({ model: findModel(model), rawParams });
  } catch (error) {
    if (error instanceof MucastError) return `${error.code}: ${error.message}`;
    throw error;
  }
  return "accepted";
}

const ACCEPTED: [string, string, string[]][] = [
  ["random_forest", "criterion", ["squared_error", "absolute_error", "friedman_mse"]],
  [
    "xgboost",
    "objective",
    ["reg:squarederror", "reg:linear", "reg:absoluteerror", "reg:pseudohubererror", "reg:squaredlogerror"],
  ],
  [
    "lightgbm",
    "objective",
    [
      ...["regression", "regression_l2", "l2", "mean_squared_error", "mse", "rmse", "l2_root", "MSE"],
      ...["root_mean_squared_error", "regression_l1", "l1", "mean_absolute_error", "mae", "huber", "fair"],
      ...["quantile", "mape", "mean_absolute_percentage_error"],
    ],
  ],
  [
    "catboost",
    "loss_function",
    [
      ...["RMSE", "MAE", "Quantile", "Quantile:alpha=0.1", "Huber:delta=1.0", "Lq:q=2", "LogCosh", "MAPE"],
      "Expectile:alpha=0.3",
    ],
  ],
];

const REFUSED: [string, string, string[]][] = [
  ["random_forest", "criterion", ["poisson", "mse", ""]],
  [
    "xgboost",
    "objective",
    [
      ...["binary:logistic", "multi:softmax", "rank:ndcg", "reg:logistic", "reg:gamma", "reg:tweedie"],
      ...["count:poisson", "survival:cox", "squarederror", "reg:expectileerror", "", "REG:SQUAREDERROR"],
    ],
  ],
  [
    "lightgbm",
    "objective",
    [
      ...[
        "binary",
        "multiclass",
        "lambdarank",
        "rank_xendcg",
        "cross_entropy",
        "xentropy",
        "poisson",
        "gamma",
      ],
      ...["tweedie", "custom", "none", "null", "na", ""],
    ],
  ],
  [
    "catboost",
    "loss_function",
    [
      ...[
        "Logloss",
        "CrossEntropy",
        "MultiClass",
        "YetiRank",
        "PairLogit",
        "QueryRMSE",
        "MultiRMSE",
        "Poisson",
      ],
      ...[
        "Tweedie:variance_power=1.5",
        "SurvivalAft",
        "MultiQuantile:alpha=0.1,0.9",
        "LogLinQuantile",
        "rmse",
      ],
      ...["RMSEWithUncertainty", "PythonUserDefinedPerObject", "", ":alpha=1"],
    ],
  ],
];

describe("losses", () => {
  for (const [model, parameter, losses] of ACCEPTED) {
    it(`of ${model} that are regression are accepted`, () => {
      for (const loss of losses) assert.equal(outcome(model, { [parameter]: loss }), "accepted", loss);
    });
  }

  for (const [model, parameter, losses] of REFUSED) {
    it(`of ${model} that are not regression are refused`, () => {
      for (const loss of losses) {
        const said = outcome(model, { [parameter]: loss });
        assert.match(said, /^invalid_model_params: .*only regression is allowed, got .*; accepted: /, loss);
        assert.doesNotMatch(said, /must be one of/, "what the library lists beside is not offered");
      }
    });
  }

  for (const { name } of MODELS) {
    it(`of ${name} have a table in objectives.ts if its library lets callers choose them`, () => {
      const chosen = ["criterion", "objective", "loss_function", "loss"].filter((parameter) =>
        parametersOf(name).byName.has(parameter),
      );
      const { parameter } = objectivesOf(name) ?? {};
      assert.deepEqual(chosen, parameter === undefined ? [] : [parameter]);
      for (const cases of [ACCEPTED, REFUSED]) {
        const isTried = cases.some(([model]) => model === name);
        assert.equal(isTried, parameter !== undefined, `the cases of this test lack ${name}`);
      }
    });
  }

  it("are found under every alias", () => {
    for (const alias of ["application", "app", "loss", "objective_type"]) {
      assert.match(outcome("lightgbm", { [alias]: "binary" }), /only regression/);
      assert.equal(outcome("lightgbm", { [alias]: "l1" }), "accepted");
    }
    assert.match(outcome("catboost", { objective: "Logloss" }), /only regression/);
  });

  it("must be names", () => {
    for (const [model, parameter] of ACCEPTED) {
      for (const value of [3, true, ["l2"], { a: 1 }]) {
        assert.match(outcome(model, { [parameter]: value }), /^invalid_model_params/);
      }
    }
  });

  it("may be left to the library with null", () => {
    for (const model of ["xgboost", "lightgbm", "catboost"])
      assert.equal(outcome(model, { objective: null }), "accepted");
  });
});

describe("xgboost's quantile loss", () => {
  const objective = "reg:quantileerror";

  for (const quantile_alpha of [0.5, [0.1], "0.1", "[0.1]", "(0.25)"]) {
    it(`takes one quantile: ${JSON.stringify(quantile_alpha)}`, () => {
      assert.equal(outcome("xgboost", { objective, quantile_alpha }), "accepted");
    });
  }

  for (const quantile_alpha of [[0.1, 0.9], [], "0.1,0.9", "0.1 0.9", "[0.1, 0.9]", null, undefined, true]) {
    it(`takes nothing else: ${JSON.stringify(quantile_alpha)}`, () => {
      assert.match(outcome("xgboost", { objective, quantile_alpha }), /exactly one quantile/);
    });
  }
});

it("catboost may not turn returns into two classes", () => {
  assert.match(outcome("catboost", { target_border: 0 }), /two classes, and only regression is allowed/);
});
