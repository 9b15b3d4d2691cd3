import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { MucastError } from "../errors/errors.ts";
import { rawNumbers } from "../json/json-text.ts";
import { parametersOf } from "./catalogue.ts";
import { findModel, MODELS } from "./models.ts";
import { type RawObject, resolveModelParams } from "./resolve.ts";
import { OBJECTIVES } from "./value-checks.ts";

/** The single fault of lightgbm's arguments; undefined if they are accepted. */
function fault(text: string): string | undefined {
  try {
    resolveModelParams({ model: findModel("lightgbm"), rawParams: rawNumbers(text), path: "params" });
    return undefined;
  } catch (error) {
    if (!(error instanceof MucastError)) throw error;
    assert.equal(error.code, "invalid_model_params");
    assert.equal(error.data.faults?.length, 1, error.message);
    return error.message;
  }
}

const namesOf = (own: string) => [own, ...parametersOf("lightgbm").byName.get(own)!.aliases];

describe("a monotone constraint of lightgbm on a column of categories", () => {
  const signs = ["[0,0,1]", "[0,0,-1]", '"0,0,1"', '"0,0,-1.0"', "[0, 0, 1.0]", "[0,0,1e0]"];
  const categories = ["[2]", "2", '"2"', '"0,2"', "[0,2]", '"02"', "[2,2]"];

  for (const sign of signs) {
    it(`is refused as ${sign}, however the columns are written`, () => {
      for (const columns of categories) {
        const message = fault(`{"monotone_constraints": ${sign}, "categorical_feature": ${columns}}`);
        assert.match(
          message ?? "",
          /^params\.monotone_constraints: constrains column 2, which params\.categorical_feature names: .*give 0 there/,
        );
      }
    });
  }

  it("is refused under any name of either parameter, whichever comes first", () => {
    for (const one of namesOf("monotone_constraints")) {
      for (const other of namesOf("categorical_feature")) {
        const expected = `params.${one}: constrains columns 0, 2, which params.${other} names`;
        assert.ok(fault(`{"${one}": [1,0,-1], "${other}": [0,1,2]}`)?.startsWith(expected));
        assert.ok(fault(`{"${other}": "0,1,2", "${one}": "1,0,-1"}`)?.startsWith(expected));
      }
    }
  });

  it("is accepted on other columns", () => {
    for (const columns of ["[1]", "1", '"1"', "[]", '""', "null"]) {
      assert.equal(fault(`{"mc": [1,0,-1], "categorical_feature": ${columns}}`), undefined);
      assert.equal(fault(`{"mc": "1,-0,-1", "categorical_feature": ${columns}}`), undefined);
    }
    assert.equal(fault('{"mc": [0,0,0], "categorical_feature": [0,1,2]}'), undefined);
  });
});

describe("lightgbm's advanced constraints without constraints", () => {
  it("are refused beside columns of categories", () => {
    for (const none of ["", '"monotone_constraints": [],', '"mc": "",', '"mc": null,']) {
      for (const method of namesOf("monotone_constraints_method")) {
        const message = fault(`{${none} "${method}": "advanced", "cat_feature": 1}`);
        assert.match(
          message ?? "",
          new RegExp(
            `^params\\.${method}: "advanced" needs monotone_constraints beside params\\.cat_feature`,
          ),
        );
      }
    }
  });

  it("are accepted without such columns, and with a constraint for every column", () => {
    const method = '"monotone_constraints_method": "advanced"';
    for (const others of ['"cat_feature": []', '"cat_feature": ""', '"n_estimators": 2']) {
      assert.equal(fault(`{${method}, ${others}}`), undefined);
    }
    assert.equal(fault(`{${method}, "cat_feature": [1], "mc": [1,0]}`), undefined);
    assert.equal(fault(`{${method}, "cat_feature": [1], "mc": "0,0"}`), undefined);
    assert.equal(
      fault('{"monotone_constraints_method": "intermediate", "cat_feature": [1], "mc": []}'),
      undefined,
    );
  });
});

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
    [...["binary", "multiclass", "lambdarank", "cross_entropy", "poisson", "custom", "none", "null", ""]],
  ],
  [
    "catboost",
    "loss_function",
    [
      ...["Logloss", "MultiClass", "YetiRank", "Poisson", "Tweedie:variance_power=1.5", "SurvivalAft"],
      ...["MultiQuantile:alpha=0.1,0.9", "rmse", "PythonUserDefinedPerObject", "", ":alpha=1"],
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
    it(`of ${name} have a table of objectives if its library lets callers choose them`, () => {
      const chosen = ["criterion", "objective", "loss_function", "loss"].filter((parameter) =>
        parametersOf(name).byName.has(parameter),
      );
      const { parameter } = OBJECTIVES[name] ?? {};
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

  for (const quantile_alpha of [0.5, [0.1], "0.1", "[0.1]", "(0.25)", " ( .25 , ) "]) {
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

describe("a text as long as a config that is almost a number", () => {
  // With a pattern in which a space or a digit has two places, each of these takes minutes or hours of the service's event loop.
  const spaces = " ".repeat(15_000);
  const digits = "1".repeat(30_000);

  it("is refused as a quantile", () => {
    for (const quantile_alpha of [`0.5${spaces}x`, `${spaces}[${spaces}x`, `${digits}x`, `0.5,${spaces}]x`])
      assert.match(
        outcome("xgboost", { objective: "reg:quantileerror", quantile_alpha }),
        /exactly one quantile/,
      );
  });

  it("is refused as the number of a column", () => {
    const monotone_constraints = `0:${digits}x`;
    assert.match(outcome("catboost", { monotone_constraints }), /monotone_constraints/);
    assert.match(outcome("xgboost", { monotone_constraints: `(${digits}x)` }), /monotone_constraints/);
  });
});

it("catboost may not turn returns into two classes", () => {
  assert.match(outcome("catboost", { target_border: 0 }), /two classes, and only regression is allowed/);
});
