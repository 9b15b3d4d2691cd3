import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { trialColumns, unmetDemands } from "./value-rules.ts";
import { outcome, resolve } from "./refusals.testing.ts";

const demandsOf = (model: string, params: object | string) => resolve(model, params).columnDemands;

/** The smallest and the largest number of columns, up to 30, for which a value is accepted. */
function accepted(model: string, params: object | string): number[] {
  const demands = demandsOf(model, params);
  const names = Array.from({ length: 30 }, (_, i) => `f${i}`);
  const met = names.map((_, i) => i + 1).filter((n) => unmetDemands(demands, names.slice(0, n)).length === 0);
  return [met[0]!, met.at(-1)!];
}

const ANY = [1, 30];

describe("an argument's column requirement", () => {
  const cases: [model: string, name: string, values: unknown[], columns: number[]][] = [
    ["lightgbm", "interaction_constraints", [[[0, 1], [2]], "[0,1],[2]", "[[0,1],[2]]"], [3, 30]],
    ["lightgbm", "interaction_constraints", [[], [[]], "", "[]", "[[]]", null], ANY],
    ["lightgbm", "monotone_constraints", [[1, 0, -1], "1,0,-1"], [3, 3]],
    ["lightgbm", "monotone_constraints", [[], ""], ANY],
    ["lightgbm", "feature_contri", [[1, 0.5], "1,0.5"], [2, 2]],
    ["lightgbm", "cegb_penalty_feature_lazy", [[1, 2e-3], "1,2e-3"], [2, 2]],
    ["lightgbm", "cegb_penalty_feature_coupled", [[1, 2]], [2, 2]],
    ["lightgbm", "max_bin_by_feature", [[15, 63], "15,63"], [2, 2]],
    ["lightgbm", "categorical_feature", [[0, 2], "0,2", 2], [3, 30]],
    ["lightgbm", "cat_feature", [[7]], [8, 30]],
    ["xgboost", "monotone_constraints", ["(1,0,-1)", " (1, 0, -1) ", "(1,0,-1,)", "(1, 0, -1, )"], [3, 30]],
    ["xgboost", "monotone_constraints", ["(1,)", "1", "()"], ANY],
    ["xgboost", "interaction_constraints", ["[[0,1],[2]]", "[[0, 1], [2]]"], [3, 30]],
    ["xgboost", "feature_weights", [[1, 0.5]], [2, 2]],
    ["xgboost", "feature_types", [["q", "int"]], [2, 2]],
    ["catboost", "monotone_constraints", [[1, 0, -1], "(1,0,-1)", { 2: 1 }, "0:1,2:-1"], [3, 30]],
    ["catboost", "feature_weights", [[1, 0.5], "(1,0.5)", { 1: 0.5 }, "1:0.5"], [2, 30]],
    ["catboost", "first_feature_use_penalties", [[1, 0.5], { 1: 2 }], [2, 30]],
    ["catboost", "per_object_feature_penalties", [[1, 0.5], "1:2"], [2, 30]],
    ["catboost", "ignored_features", [[2], 2, ["0-2"], ["2"], [0, "1-2"]], [3, 30]],
    ["catboost", "per_float_feature_quantization", ["2:border_count=9", ["2:nan_mode=Max"]], [3, 30]],
    ["random_forest", "monotonic_cst", [[1, 0, -1]], [3, 3]],
  ];
  for (const [model, name, values, columns] of cases) {
    it(`is read from every notation of ${model} ${name}`, () => {
      for (const value of values)
        assert.deepEqual(accepted(model, { [name]: value }), columns, JSON.stringify(value));
    });
  }

  it("does not depend on how a number is written", () => {
    assert.deepEqual(accepted("lightgbm", '{"mc": [1.0, -1]}'), [2, 2]);
  });

  it("that is not met is a fault with the value, the number of columns and their names", () => {
    const groups = demandsOf("lightgbm", { interaction_constraints: [[0, 1], [99]] });
    assert.deepEqual(unmetDemands(groups, ["mom", "vol"]), [
      'params.interaction_constraints: [[0,1],[99]] names column 99, but the ticker has 2 columns: 0 "mom", 1 "vol"',
    ]);
    const many = Array.from({ length: 12 }, (_, i) => `f${i}`);
    assert.match(
      unmetDemands(demandsOf("lightgbm", { mc: "1,0,-1" }), many)[0]!,
      /^params.mc: "1,0,-1" holds 3 values, one a column, but the ticker has 12 columns: 0 "f0", .* 9 "f9" and 2 more$/,
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
  const signs = { monotone_constraints: [1, 0] };
  const refused: [string, object, RegExp][] = [
    [
      "lightgbm",
      { interaction_constraints: [[0, 1], [20_000]] },
      /names column 20000, .* at most 10000 columns/,
    ],
    ["lightgbm", { interaction_constraints: "[0],[4000000000]" }, /names column 4000000000/],
    ["lightgbm", { monotone_constraints: Array(10_001).fill(0) }, /holds 10001 values/],
    ["catboost", { ignored_features: ["0-4000000000"] }, /names column 4000000000/],
    ["catboost", { monotone_constraints: { 4000000000: 1 } }, /names column 4000000000/],
    ["catboost", { per_float_feature_quantization: "20000:border_count=3" }, /names column 20000/],
    [
      "lightgbm",
      { ...signs, feature_contri: [1] },
      /feature_contri: .* holds 1 values, .*monotone_.* holds 2/,
    ],
    [
      "lightgbm",
      { ...signs, categorical_feature: [2] },
      /names column 2, but .*monotone_constraints holds 2/,
    ],
  ];
  for (const [model, params, message] of refused) {
    it(`${model} ${JSON.stringify(params).slice(0, 80)}`, () =>
      assert.match(outcome(model, params), message));
  }

  const misread: [string, string, unknown[]][] = [
    [
      "lightgbm",
      "interaction_constraints",
      ["[0],", "[a]", "[0.5]", "[-1]", [[-1]], [0, 1], "0,1", [[0, 1], 2]],
    ],
    ["lightgbm", "interaction_constraints", [[["0"]], "[0,1][2]", 1, {}]],
    [
      "lightgbm",
      "monotone_constraints",
      ["(1,0,-1)", [5, 0], [1.5, 0], [[1, 0]], "a,b", 1, { 0: 1 }, [true]],
    ],
    ["lightgbm", "feature_contri", ["x", [[1]], 1, ["1"], "1,,1"]],
    ["lightgbm", "max_bin_by_feature", [[1, 2], [2_000_000_000], [2.5], 5]],
    ["lightgbm", "categorical_feature", ["name:f0", "auto", [-1], ["f0"], [0.5], -1, { 0: 1 }]],
    ["xgboost", "monotone_constraints", ["1,0", "[1,0]", [1, 0], { 0: 1 }, "(5,0)", "(a)", 1]],
    [
      "xgboost",
      "interaction_constraints",
      ["[0,1],[2]", [[0, 1]], [["f0"]], "[[-1]]", "[[0.5]]", '[["f0"]]'],
    ],
    ["xgboost", "interaction_constraints", ["[0]", "[[[0]]]", 1, {}]],
    ["xgboost", "feature_weights", ["1,1", { 0: 1 }, 1, ["a"], [[1]], [null], true]],
    ["xgboost", "feature_types", ["q", "qq", ["x"], [1], [null], { 0: "q" }, []]],
    ["catboost", "monotone_constraints", ["1,0", "(0:1)", { f0: 1 }, [5], [1.5], { 0: "1" }, ["1"], ""]],
    ["catboost", "feature_weights", ["x", { a: 1 }, ["1"], "(x)", ""]],
    ["catboost", "ignored_features", [["5-1"], [-1], ["a"], [[0]], ["0-1-2"], ["-"], [0.5]]],
    ["catboost", "per_float_feature_quantization", ["", ["0"], "a:border_count=1", "-1:border_count=1", [1]]],
    ["random_forest", "monotonic_cst", [[2], ["1"], [[1]], [null]]],
  ];
  it("a value in another notation", () => {
    for (const [model, name, values] of misread) {
      for (const value of values)
        assert.match(
          outcome(model, { [name]: value }),
          /: (takes|must be) /,
          `${name} ${JSON.stringify(value)}`,
        );
    }
  });
});
