import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { MucastError } from "../errors/errors.ts";
import { rawNumbers } from "../json/json-text.ts";
import { trialColumns, unmetDemands } from "./column-demands.ts";
import { findModel } from "./models.ts";
import { type RawObject, resolveModelParams } from "./resolve.ts";

/** The fault of a value before any column is known; undefined if there is none. */
function fault(model: string, params: object | string): string | undefined {
  try {
    demandsOf(model, params);
    return undefined;
  } catch (error) {
    if (!(error instanceof MucastError)) throw error;
    assert.equal(error.code, "invalid_model_params");
    return error.message;
  }
}

function demandsOf(model: string, params: object | string) {
  const text = typeof params === "string" ? params : JSON.stringify(params);
  return resolveModelParams({ model: findModel(model), rawParams: rawNumbers(text) as RawObject })
    .columnDemands;
}

/** The smallest and the largest number of columns, up to 30, for which a value is accepted; undefined if there is none. */
function taken(model: string, params: object | string): [number, number] | undefined {
  const demands = demandsOf(model, params);
  const met = Array.from({ length: 30 }, (_, i) => i + 1).filter(
    (count) =>
      unmetDemands(
        demands,
        Array.from({ length: count }, (_, i) => `f${i}`),
      ).length === 0,
  );
  return met.length === 0 ? undefined : [met[0]!, met.at(-1)!];
}

const ANY: [number, number] = [1, 30];

describe("an argument's column requirement", () => {
  const cases: [string, string, unknown[], [number, number]][] = [
    ["lightgbm", "interaction_constraints", [[[0, 1], [2]], "[0,1],[2]", "[[0,1],[2]]"], [3, 30]],
    ["lightgbm", "interaction_constraints", [[], [[]], "", "[]", "[[]]"], ANY],
    ["lightgbm", "monotone_constraints", [[1, 0, -1], "1,0,-1"], [3, 3]],
    ["lightgbm", "monotone_constraints", [[], ""], ANY],
    ["lightgbm", "feature_contri", [[1, 0.5], "1,0.5"], [2, 2]],
    ["lightgbm", "cegb_penalty_feature_lazy", [[1, 2e-3], "1,2e-3"], [2, 2]],
    ["lightgbm", "cegb_penalty_feature_coupled", [[1, 2]], [2, 2]],
    ["lightgbm", "max_bin_by_feature", [[15, 63], "15,63"], [2, 2]],
    ["lightgbm", "categorical_feature", [[0, 2], "0,2", 2], [3, 30]],
    ["xgboost", "monotone_constraints", ["(1,0,-1)", "(1, 0, -1)"], [3, 30]],
    ["xgboost", "monotone_constraints", [" (1,0,-1) ", "(1,0,-1,)", "(1, 0, -1, )"], [3, 30]],
    ["xgboost", "monotone_constraints", ["(1,)", "1"], [1, 30]],
    ["xgboost", "monotone_constraints", ["()"], ANY],
    ["xgboost", "interaction_constraints", ["[[0,1],[2]]", "[[0, 1], [2]]"], [3, 30]],
    ["xgboost", "feature_weights", [[1, 0.5]], [2, 2]],
    ["xgboost", "feature_types", [["q", "int"]], [2, 2]],
    ["catboost", "monotone_constraints", [[1, 0, -1], "(1,0,-1)", { 2: 1 }, "0:1,2:-1"], [3, 30]],
    ["catboost", "feature_weights", [[1, 0.5], "(1,0.5)", { 1: 0.5 }, "1:0.5"], [2, 30]],
    ["catboost", "first_feature_use_penalties", [[1, 0.5], { 1: 2 }], [2, 30]],
    ["catboost", "per_object_feature_penalties", [[1, 0.5], "1:2"], [2, 30]],
    ["catboost", "ignored_features", [[2], 2, ["0-2"], ["2"], [0, "1-2"]], [3, 30]],
    [
      "catboost",
      "per_float_feature_quantization",
      ["2:border_count=9", ["0:nan_mode=Max", "2:border_count=9"]],
      [3, 30],
    ],
    ["random_forest", "monotonic_cst", [[1, 0, -1]], [3, 3]],
  ];
  for (const [model, name, values, expected] of cases) {
    for (const value of values) {
      it(`is read from ${model} ${name} ${JSON.stringify(value)}`, () => {
        assert.deepEqual(taken(model, { [name]: value }), expected);
      });
    }
  }

  it("is read under every alias, with numbers as they were written", () => {
    assert.deepEqual(taken("lightgbm", '{"mc": [1.0, -1]}'), [2, 2]);
    assert.deepEqual(taken("lightgbm", { cat_feature: [7] }), [8, 30]);
  });

  it("is absent if the argument is null or mentions no column", () => {
    assert.deepEqual(taken("lightgbm", { interaction_constraints: null, num_leaves: 7 }), ANY);
  });

  it("that is not met is a fault with the value, the number of columns and their names", () => {
    const [sentence] = unmetDemands(demandsOf("lightgbm", { interaction_constraints: [[0, 1], [99]] }), [
      "mom",
      "vol",
    ]);
    assert.equal(
      sentence,
      'config.ML params.model_params.interaction_constraints: [[0,1],[99]] names column 99, but the ticker has 2 columns: 0 "mom", 1 "vol"',
    );
    const many = Array.from({ length: 12 }, (_, i) => `f${i}`);
    assert.match(
      unmetDemands(demandsOf("lightgbm", { mc: "1,0,-1" }), many)[0]!,
      /^config.ML params.model_params.mc: "1,0,-1" holds 3 values, one a column, but the ticker has 12 columns: 0 "f0", .* 9 "f9" and 2 more$/,
    );
  });

  it("is met by the columns of the trial fit", () => {
    const trial = (params: object) => trialColumns(demandsOf("lightgbm", params));
    assert.equal(trial({}), 8);
    assert.equal(trial({ interaction_constraints: [[0, 1], [20]] }), 22);
    assert.equal(trial({ monotone_constraints: [1, 0], interaction_constraints: [[0, 1]] }), 2);
  });
});

describe("no ticker can accept", () => {
  const refused: [string, object, RegExp][] = [
    [
      "lightgbm",
      { interaction_constraints: [[0, 1], [20_000]] },
      /names column 20000, and a ticker has at most 10000 columns/,
    ],
    ["lightgbm", { interaction_constraints: "[0],[4000000000]" }, /names column 4000000000/],
    ["lightgbm", { monotone_constraints: Array(10_001).fill(0) }, /holds 10001 values/],
    ["catboost", { ignored_features: ["0-4000000000"] }, /names column 4000000000/],
    ["catboost", { monotone_constraints: { 4000000000: 1 } }, /names column 4000000000/],
    ["catboost", { per_float_feature_quantization: "20000:border_count=3" }, /names column 20000/],
    [
      "lightgbm",
      { monotone_constraints: [1, 0], feature_contri: [1] },
      /feature_contri: .* holds 1 values, .*monotone_constraints holds 2/,
    ],
    [
      "lightgbm",
      { monotone_constraints: [1, 0], categorical_feature: [2] },
      /names column 2, but .*monotone_constraints holds 2/,
    ],
  ];
  for (const [model, params, message] of refused) {
    it(`${model} ${JSON.stringify(params).slice(0, 80)}`, () =>
      assert.match(fault(model, params) ?? "", message));
  }

  const misread: [string, string, unknown[]][] = [
    [
      "lightgbm",
      "interaction_constraints",
      ["[0],", "[a]", "[0.5]", "[-1]", [[-1]], [0, 1], "0,1", [[0, 1], 2], [["0"]], "[0,1][2]", 1, {}],
    ],
    [
      "lightgbm",
      "monotone_constraints",
      ["(1,0,-1)", [5, 0], [1.5, 0], [[1, 0]], "a,b", 1, { 0: 1 }, [true], [null]],
    ],
    ["lightgbm", "feature_contri", ["x", [[1]], 1, ["1"], "1,,1"]],
    ["lightgbm", "max_bin_by_feature", [[1, 2], [2_000_000_000], [2.5], 5]],
    ["lightgbm", "categorical_feature", ["name:f0", "auto", [-1], ["f0"], [0.5], -1, { 0: 1 }]],
    ["xgboost", "monotone_constraints", ["1,0", "[1,0]", [1, 0], { 0: 1 }, "(5,0)", "(a)", 1]],
    [
      "xgboost",
      "interaction_constraints",
      ["[0,1],[2]", [[0, 1]], [["f0"]], "[[-1]]", "[[0.5]]", '[["f0"]]', "[0]", "[[[0]]]", 1, {}],
    ],
    ["xgboost", "feature_weights", ["1,1", { 0: 1 }, 1, ["a"], [[1]], [null], true]],
    ["xgboost", "feature_types", ["q", "qq", ["x"], [1], [null], { 0: "q" }, []]],
    [
      "catboost",
      "monotone_constraints",
      ["1,0", "(0:1)", { f0: 1 }, [5], [1.5], { 0: "1" }, { "-1": 1 }, ["1"], ""],
    ],
    ["catboost", "feature_weights", ["x", { a: 1 }, ["1"], "(x)", ""]],
    ["catboost", "ignored_features", [["5-1"], [-1], ["a"], [[0]], ["0-1-2"], ["-"], [0.5]]],
    ["catboost", "per_float_feature_quantization", ["", ["0"], "a:border_count=1", "-1:border_count=1", [1]]],
    ["random_forest", "monotonic_cst", [[2], ["1"], [[1]], [null]]],
  ];
  for (const [model, name, values] of misread) {
    for (const value of values) {
      it(`${model} ${name} ${JSON.stringify(value)}, which has no known form`, () => {
        assert.match(fault(model, { [name]: value }) ?? "accepted", /: (takes|must be) /);
      });
    }
  }

  it("arguments about non-numeric features, unless they are empty", () => {
    for (const name of [
      "cat_features",
      "text_features",
      "embedding_features",
      "per_feature_ctr",
      "simple_ctr",
    ]) {
      assert.match(fault("catboost", { [name]: ["0:Borders"] }) ?? "", /every feature is a number/);
      assert.equal(fault("catboost", { [name]: [] }), undefined);
    }
  });

  it("a matrix of certain rows, weights of classes, or more than a fit may compute", () => {
    assert.match(fault("lasso", { precompute: [[1]] }) ?? "", /every fit has rows of its own/);
    assert.match(fault("lightgbm", { class_weight: { 0: 1 } }) ?? "", /weighs classes/);
    const beyond: [string, string, unknown[]][] = [
      ["lightgbm", "n_estimators", [100_001, 2e9]],
      ["lightgbm", "num_trees", [2_000_000_000]],
      ["lightgbm", "max_bin", ["1000001", 2_000_000_000]],
      ["lightgbm", "num_grad_quant_bins", [255]],
      ["xgboost", "n_estimators", [2_000_000_000]],
      ["xgboost", "num_parallel_tree", [1_001, "1001"]],
      ["xgboost", "max_bin", [2_000_000_000]],
      ["catboost", "num_trees", [1e9]],
      ["catboost", "leaf_estimation_iterations", [1_001]],
      ["catboost", "fold_len_multiplier", [1e300, 1.0001]],
      ["rf", "n_estimators", [2_000_000_000]],
      ["rf", "max_leaf_nodes", [100_001]],
      ["rf", "max_samples", [10_000_001, 2_147_483_648, 10.5]],
      ["lasso", "max_iter", [10_000_001]],
    ];
    for (const [model, name, values] of beyond) {
      for (const value of values) {
        assert.match(
          fault(model, { [name]: value }) ?? "accepted",
          /may be at most \d+, since|must be at least 1.05|must be an integer/,
          `${model} ${name}`,
        );
      }
    }
    const ordered = { boosting_type: "Ordered", max_depth: 13 };
    assert.match(
      fault("catboost", ordered) ?? "",
      /max_depth: may be at most 12 with .*boosting_type "Ordered"/,
    );
    for (const params of [{ n_estimators: 100_000 }, { max_samples: 10_000_000 }, { max_samples: 9.5 }]) {
      assert.equal(fault("rf", params), undefined);
    }
  });
});
