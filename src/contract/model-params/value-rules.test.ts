import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type Parameter, parametersOf } from "./catalogue.ts";
import { MODELS, type Model } from "./models.ts";
import { outcome, resolve } from "./refusals.testing.ts";
import { asksForGpu, refusalReason, wordsIn } from "./refused-arguments.ts";
import { trialColumns, unmetDemands, valueRule } from "./value-rules.ts";

/** Parameters whose values refer to neither columns nor rows: value-checks.ts has a rule, or the trial fit checks them. */
const WITHOUT_COLUMNS = {
  sklearn: `alpha max_depth n_jobs precompute random_state solver_options verbose`,
  xgboost: `base_score boost_from_average booster debug_synchronize device disable_default_eval_metric
    enable_categorical eval_metric fail_on_invalid_gpu_id importance_type max_cached_hist_node
    max_cat_threshold max_cat_to_onehot max_depth max_leaves max_row_perbatch n_jobs objective one_drop
    quantile_alpha random_state refresh_leaf seed_per_iteration top_k updater validate_parameters
    verbosity`,
  lightgbm: `auc_mu_weights bagging_by_query bagging_seed boost_from_average boosting_type data_random_seed
    data_sample_strategy deterministic device_type drop_seed enable_bundle eval_at extra_seed
    extra_trees feature_fraction_seed feature_pre_filter force_col_wise force_row_wise is_enable_sparse
    is_provide_training_metric is_unbalance label_gain lambdarank_norm lambdarank_truncation_level
    linear_tree max_cat_threshold max_cat_to_onehot max_depth max_drop metric metric_freq
    min_child_samples min_data_in_bin min_data_per_group monotone_constraints_method multi_error_top_k
    n_jobs num_iteration_predict num_leaves objective objective_seed pre_partition pred_early_stop
    pred_early_stop_freq predict_contrib predict_disable_shape_check predict_leaf_index
    predict_raw_score quant_train_renew_leaf random_state reg_sqrt saved_feature_importance_type
    start_iteration_predict stochastic_rounding subsample_for_bin subsample_freq top_k tree_learner
    uniform_drop use_missing use_quantized_grad verbosity xgboost_dart_mode zero_as_missing`,
  catboost: `allow_writing_files boosting_type bootstrap_type border_count counter_calc_method ctr_history_unit
    ctr_leaf_count_limit ctr_target_border_count custom_metric depth dev_efb_max_buckets
    dev_score_calc_obj_block_size eval_metric feature_border_type final_ctr_computation_mode
    fold_permutation_block grow_policy leaf_estimation_backtracking leaf_estimation_method logging_level
    loss_function max_ctr_complexity max_leaves metadata metric_period model_shrink_mode name nan_mode
    one_hot_max_size random_score_type random_seed sampling_frequency sampling_unit score_function
    silent task_type thread_count used_ram_limit verbose`,
};

/** Whether only the default is ever passed on. */
function isRefused({ library }: Model, name: string): boolean {
  const isOfGpu = ["gpu", "any"].every((value) => asksForGpu(library, name, value, false));
  return isOfGpu || refusalReason(library, name, name, false) !== undefined;
}

/** Whether a value can be neither a list, an object, free text nor a whole number, which might be a column's. */
function isPlain({ types, choices }: Parameter): boolean {
  if (types === undefined) return false;
  const plain = ["null", "bool", "float", "number_text", ...(choices ? ["string"] : [])];
  return types.every((type) => plain.includes(type) || (type === "int" && types.includes("float")));
}

describe("how a value is checked", () => {
  for (const model of MODELS) {
    it(`has a rule for every parameter of ${model.name} that might refer to columns or rows`, () => {
      const reviewed = wordsIn(WITHOUT_COLUMNS[model.library]);
      const without = [...parametersOf(model.name).byName.values()].filter(
        (parameter) =>
          !isRefused(model, parameter.name) &&
          !isPlain(parameter) &&
          !valueRule(model.library, parameter.name) &&
          !reviewed.includes(parameter.name),
      );
      assert.deepEqual(
        without.map(({ name }) => name),
        [],
      );
    });
  }
});

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
  it("is read from every notation", () => {
    for (const [model, name, values, columns] of cases) {
      for (const value of values)
        assert.deepEqual(accepted(model, { [name]: value }), columns, `${name} ${JSON.stringify(value)}`);
    }
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
  it("a column beyond the limit, or values that contradict each other", () => {
    for (const [model, params, message] of refused) assert.match(outcome(model, params), message);
  });

  const misread: [string, string, unknown[]][] = [
    ["lightgbm", "interaction_constraints", ["[0],", "[0.5]", [[-1]], [0, 1], "0,1", "[0,1][2]", 1, {}]],
    ["lightgbm", "monotone_constraints", ["(1,0,-1)", [5, 0], [1.5, 0], [[1, 0]], "a,b", 1, [true]]],
    ["lightgbm", "feature_contri", ["x", [[1]], ["1"], "1,,1"]],
    ["lightgbm", "max_bin_by_feature", [[1, 2], [2_000_000_000], [2.5], 5]],
    ["lightgbm", "categorical_feature", ["name:f0", "auto", [-1], ["f0"], [0.5], { 0: 1 }]],
    ["xgboost", "monotone_constraints", ["1,0", "[1,0]", [1, 0], "(5,0)", "(a)", 1]],
    ["xgboost", "interaction_constraints", ["[0,1],[2]", [[0, 1]], "[[-1]]", '[["f0"]]', "[[[0]]]", 1]],
    ["xgboost", "feature_weights", ["1,1", { 0: 1 }, ["a"], [[1]], [null], true]],
    ["xgboost", "feature_types", ["q", ["x"], [1], { 0: "q" }, []]],
    ["catboost", "monotone_constraints", ["1,0", "(0:1)", { f0: 1 }, [5], { 0: "1" }, ["1"], ""]],
    ["catboost", "ignored_features", [["5-1"], [-1], ["a"], [[0]], ["0-1-2"], ["-"], [0.5]]],
    ["catboost", "per_float_feature_quantization", ["", ["0"], "a:border_count=1", [1]]],
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
