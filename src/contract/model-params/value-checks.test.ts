import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { parametersOf } from "./catalogue.ts";
import { MODELS } from "./models.ts";
import { outcome, refusal } from "./refusals.testing.ts";
import { wordsIn } from "./refused-arguments.ts";
import { OBJECTIVES } from "./value-checks.ts";

const namesOf = (own: string) => [own, ...parametersOf("lightgbm").byName.get(own)!.aliases];

describe("a monotone constraint of lightgbm on a column of categories", () => {
  it("is refused however both are written", () => {
    const signs = ["[0,0,1]", "[0,0,-1]", '"0,0,1"', '"0,0,-1.0"', "[0, 0, 1.0]", "[0,0,1e0]"];
    for (const sign of signs) {
      for (const columns of ["[2]", "2", '"2"', '"0,2"', "[0,2]", '"02"', "[2,2]"])
        assert.match(
          outcome("lightgbm", `{"monotone_constraints": ${sign}, "categorical_feature": ${columns}}`),
          /^\w+: params\.monotone_constraints: constrains column 2, which params\.categorical_feature names: .*give 0 there/,
        );
    }
  });

  it("is accepted on other columns", () => {
    for (const columns of ["[1]", '"1"', "null"])
      assert.equal(outcome("lightgbm", `{"mc": [1,0,-1], "categorical_feature": ${columns}}`), "accepted");
  });
});

it("lightgbm's advanced constraints beside columns of categories need a constraint for every column", () => {
  for (const none of ["", '"monotone_constraints": [],', '"mc": "",', '"mc": null,']) {
    for (const method of namesOf("monotone_constraints_method")) {
      const message = `params.${method}: "advanced" needs monotone_constraints beside params.cat_feature`;
      assert.ok(outcome("lightgbm", `{${none} "${method}": "advanced", "cat_feature": 1}`).includes(message));
    }
  }
  const method = '"monotone_constraints_method": "advanced"';
  for (const others of [
    '"cat_feature": []',
    '"cat_feature": [1], "mc": [1,0]',
    '"cat_feature": [1], "mc": "0,0"',
  ])
    assert.equal(outcome("lightgbm", `{${method}, ${others}}`), "accepted");
});

describe("losses", () => {
  const cases: [model: string, parameter: string, accepted: string, refused: string][] = [
    ["random_forest", "criterion", "squared_error absolute_error friedman_mse", "poisson mse"],
    [
      "xgboost",
      "objective",
      "reg:squarederror reg:linear reg:absoluteerror reg:pseudohubererror reg:squaredlogerror",
      `binary:logistic multi:softmax rank:ndcg reg:logistic reg:gamma reg:tweedie count:poisson survival:cox squarederror
      reg:expectileerror REG:SQUAREDERROR`,
    ],
    [
      "lightgbm",
      "objective",
      `regression regression_l2 l2 mean_squared_error mse rmse l2_root MSE root_mean_squared_error regression_l1 l1
      mean_absolute_error mae huber fair quantile mape mean_absolute_percentage_error`,
      "binary multiclass lambdarank cross_entropy poisson custom none null",
    ],
    [
      "catboost",
      "loss_function",
      "RMSE MAE Quantile Quantile:alpha=0.1 Huber:delta=1.0 Lq:q=2 LogCosh MAPE Expectile:alpha=0.3",
      `Logloss MultiClass YetiRank Poisson Tweedie:variance_power=1.5 SurvivalAft MultiQuantile:alpha=0.1,0.9 rmse
      PythonUserDefinedPerObject :alpha=1`,
    ],
  ];
  for (const [model, parameter, accepted, refused] of cases) {
    it(`of ${model} that are regression are accepted, and others refused`, () => {
      for (const loss of wordsIn(accepted)) assert.equal(outcome(model, { [parameter]: loss }), "accepted");
      for (const loss of ["", ...wordsIn(refused)])
        assert.match(
          outcome(model, { [parameter]: loss }),
          /^invalid_model_params: .*only regression is allowed, got .*; accepted: (?!.*must be one of)/,
        );
      for (const value of [3, true, ["l2"], { a: 1 }])
        assert.match(outcome(model, { [parameter]: value }), /^invalid_model_params/);
    });
  }

  it("have a list if a library lets callers choose one", () => {
    for (const { name } of MODELS) {
      const { byName } = parametersOf(name);
      const chosen = ["criterion", "objective", "loss_function", "loss"].filter((own) => byName.has(own));
      assert.deepEqual(OBJECTIVES[name]?.slice(0, 1) ?? [], chosen);
    }
  });

  it("are found under every alias, and may be left to the library with null", () => {
    for (const alias of ["application", "app", "loss", "objective_type"]) {
      assert.match(outcome("lightgbm", { [alias]: "binary" }), /only regression/);
      assert.equal(outcome("lightgbm", { [alias]: "l1" }), "accepted");
    }
    assert.match(outcome("catboost", { objective: "Logloss" }), /only regression/);
    for (const model of ["xgboost", "lightgbm", "catboost"])
      assert.equal(outcome(model, { objective: null }), "accepted");
  });
});

it("xgboost's quantile loss takes one quantile", () => {
  const objective = "reg:quantileerror";
  for (const quantile_alpha of [0.5, [0.1], "0.1", "[0.1]", "(0.25)", " ( .25 , ) "])
    assert.equal(outcome("xgboost", { objective, quantile_alpha }), "accepted");
  for (const quantile_alpha of [[0.1, 0.9], [], "0.1,0.9", "0.1 0.9", "[0.1, 0.9]", null, undefined, true])
    assert.match(outcome("xgboost", { objective, quantile_alpha }), /exactly one quantile/);
});

// With a pattern in which a space or a digit has two places, each of these takes minutes or hours of the service's event loop.
it("a text as long as a config that is almost a number is refused", () => {
  const spaces = " ".repeat(15_000);
  const digits = "1".repeat(30_000);
  for (const quantile_alpha of [`0.5${spaces}x`, `${spaces}[${spaces}x`, `${digits}x`, `0.5,${spaces}]x`])
    assert.match(
      outcome("xgboost", { objective: "reg:quantileerror", quantile_alpha }),
      /exactly one quantile/,
    );
  assert.match(outcome("catboost", { monotone_constraints: `0:${digits}x` }), /monotone_constraints/);
  assert.match(outcome("xgboost", { monotone_constraints: `(${digits}x)` }), /monotone_constraints/);
});

it("more than a fit may compute is refused", () => {
  const beyond: [string, string, unknown[]][] = [
    ["lightgbm", "n_estimators", [100_001, 2e9]],
    ["lightgbm", "num_trees", [2_000_000_000]],
    ["lightgbm", "max_bin", ["1000001", 2_000_000_000]],
    ["lightgbm", "num_grad_quant_bins", [255]],
    ["xgboost", "num_parallel_tree", [1_001, "1001"]],
    ["catboost", "num_trees", [1e9]],
    ["catboost", "leaf_estimation_iterations", [1_001]],
    ["catboost", "fold_len_multiplier", [1e300, 1.0001]],
    ["rf", "max_leaf_nodes", [100_001]],
    ["rf", "max_samples", [10_000_001, 2_147_483_648, 10.5]],
    ["lasso", "max_iter", [10_000_001]],
  ];
  for (const [model, name, values] of beyond) {
    for (const value of values)
      assert.match(
        outcome(model, { [name]: value }),
        /may be at most \d+, since|must be at least 1.05|must be an integer/,
        `${model} ${name}`,
      );
  }
  assert.match(
    outcome("catboost", { boosting_type: "Ordered", max_depth: 13 }),
    /max_depth: may be at most 12 with .*boosting_type "Ordered"/,
  );
  for (const params of [{ n_estimators: 100_000 }, { max_samples: 10_000_000 }, { max_samples: 9.5 }])
    assert.equal(refusal("rf", params), undefined);
});
