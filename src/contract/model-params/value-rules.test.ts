import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type Parameter, parametersOf } from "./catalogue.ts";
import { MODELS, type Model } from "./models.ts";
import { asksForGpu, refusalReason, wordsIn } from "./refused-arguments.ts";
import { ruleNames, valueRule } from "./value-rules.ts";

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

  it("has no rule for a parameter that the catalogue lacks", () => {
    for (const [library, models] of Map.groupBy(MODELS, ({ library }) => library)) {
      const known = new Set(models.flatMap(({ name }) => [...parametersOf(name).byName.keys()]));
      const names = [...ruleNames(library), ...wordsIn(WITHOUT_COLUMNS[library])];
      assert.deepEqual(
        names.filter((name) => !known.has(name)),
        [],
      );
    }
  });
});
