import {
  byNumber,
  COLUMN_NUMBER,
  COLUMN_NUMBERS,
  COLUMN_NUMBERS_TEXT,
  COLUMN_RANGES,
  type ColumnForm,
  GROUPS,
  groupsText,
  integer,
  list,
  OPTIONS_BY_NUMBER,
  SIGN,
  stringList,
  text,
  textByNumber,
  tuple,
  WEIGHT,
} from "./column-forms.ts";
import type { Library } from "./models.ts";

/**
 * How mucast checks a parameter's value beyond its type:
 * - columns: the value refers to columns; it is compared with the columns of each fit.
 * - most: the value may not exceed a number; one written as a fraction may not exceed `mostFraction`, if that is given, nor be below `least`.
 * - own: value-checks.ts has a rule for this parameter.
 * - trial: the value refers to neither columns nor rows, and the trial fit checks it.
 */
type ValueRule =
  | { readonly kind: "columns"; readonly forms: readonly ColumnForm[]; readonly inWords: string }
  | { kind: "most"; most: number; mostFraction?: number; least?: number; reason: string }
  | { readonly kind: "own" | "trial" };

type Rules = Readonly<Record<string, ValueRule>>;

/** The number of trees, rounds or iterations of a model. */
export const MAX_ROUNDS = 100_000;
const MAX_BINS = 1_000_000;

const columns = (inWords: string, ...forms: readonly ColumnForm[]): ValueRule => ({
  kind: "columns",
  forms,
  inWords,
});
const most = (count: number, reason: string, least = Number.NEGATIVE_INFINITY): ValueRule => ({
  kind: "most",
  most: count,
  least,
  reason,
});
const rounds = most(MAX_ROUNDS, "each takes time and memory");
const bins = most(MAX_BINS, "each takes memory");
const each = (kind: "own" | "trial", names: readonly string[]): Rules =>
  Object.fromEntries(names.map((name) => [name, { kind }]));
const own = (...names: readonly string[]) => each("own", names);
const trial = (...names: readonly string[]) => each("trial", names);

const BRACKETS = ["(", ")"] as const;
const BARE = ["", ""] as const;
const SIGNS = "-1, 0 or 1 a column";
const WEIGHTS = "a number a column";

const SKLEARN: Rules = {
  n_estimators: rounds,
  max_iter: most(10_000_000, "each is a pass over the rows"),
  max_leaf_nodes: most(100_000, "each tree takes memory for all of them"),
  // A number of rows, or a share of the rows; scikit-learn accepts either beyond the rows.
  max_samples: { kind: "most", most: 10_000_000, mostFraction: 10, reason: "each tree draws as many rows" },
  // scikit-learn requires one sign for every column.
  monotonic_cst: columns(SIGNS, list("each", SIGN)),
  ...own("precompute", "solver_options"),
  // `alpha` is one penalty, which may be in a list.
  ...trial("alpha", "max_depth", "n_jobs", "random_state", "verbose"),
};

const XGBOOST: Rules = {
  n_estimators: rounds,
  num_parallel_tree: most(1_000, "every round grows as many trees"),
  max_bin: bins,
  // xgboost uses 0 for the columns after the last given one.
  monotone_constraints: columns(SIGNS, tuple("first", SIGN)),
  interaction_constraints: columns("groups of column numbers", groupsText(false)),
  feature_weights: columns(WEIGHTS, list("each", WEIGHT)),
  feature_types: columns(
    '"q", "float", "i", "int" or "c" a column',
    stringList("q", "float", "i", "int", "c"),
  ),
  ...own("objective", "quantile_alpha", "verbosity"),
  ...trial("base_score", "booster", "device", "eval_metric", "importance_type", "updater"),
  ...trial(
    "enable_categorical",
    "debug_synchronize",
    "disable_default_eval_metric",
    "fail_on_invalid_gpu_id",
  ),
  ...trial("one_drop", "refresh_leaf", "seed_per_iteration", "validate_parameters", "boost_from_average"),
  ...trial("max_cached_hist_node", "max_cat_threshold", "max_cat_to_onehot", "max_depth", "max_leaves"),
  ...trial("max_row_perbatch", "n_jobs", "random_state", "top_k"),
};

const LIGHTGBM: Rules = {
  n_estimators: rounds,
  max_bin: bins,
  // Gradients are stored in 8 bits, half of the bins for either sign; with more bins they overflow without an error.
  num_grad_quant_bins: most(254, "a gradient is kept in 8 bits"),
  monotone_constraints: columns(SIGNS, list("each", SIGN), text("each", SIGN, BARE)),
  // lightgbm writes outside its memory for a column that does not exist.
  interaction_constraints: columns("groups of column numbers", GROUPS, groupsText(true)),
  feature_contri: columns(WEIGHTS, list("each", WEIGHT), text("each", WEIGHT, BARE)),
  cegb_penalty_feature_coupled: columns(WEIGHTS, list("each", WEIGHT), text("each", WEIGHT, BARE)),
  cegb_penalty_feature_lazy: columns(WEIGHTS, list("each", WEIGHT), text("each", WEIGHT, BARE)),
  max_bin_by_feature: columns(
    `a whole number from 2 to ${MAX_BINS} a column`,
    list("each", integer(2, MAX_BINS)),
    text("each", integer(2, MAX_BINS), BARE),
  ),
  categorical_feature: columns("column numbers", COLUMN_NUMBERS, COLUMN_NUMBERS_TEXT, COLUMN_NUMBER),
  // For metrics, which change no forecast and do not depend on columns.
  ...trial("auc_mu_weights", "eval_at", "label_gain", "metric", "metric_freq", "multi_error_top_k"),
  ...trial("is_provide_training_metric", "lambdarank_norm", "lambdarank_truncation_level"),
  ...trial("boosting_type", "data_sample_strategy", "device_type", "monotone_constraints_method"),
  ...trial("tree_learner"),
  ...own("objective"),
  ...trial("bagging_by_query", "boost_from_average", "deterministic", "enable_bundle", "extra_trees"),
  ...trial("feature_pre_filter", "force_col_wise", "force_row_wise", "is_enable_sparse", "is_unbalance"),
  ...trial("linear_tree", "pre_partition", "quant_train_renew_leaf", "reg_sqrt", "stochastic_rounding"),
  ...trial("uniform_drop", "use_missing", "use_quantized_grad", "xgboost_dart_mode", "zero_as_missing"),
  ...trial("bagging_seed", "data_random_seed", "drop_seed", "extra_seed", "feature_fraction_seed"),
  ...trial("objective_seed", "random_state"),
  ...trial("max_cat_threshold", "max_cat_to_onehot", "max_depth", "max_drop", "min_child_samples"),
  ...trial("min_data_in_bin", "min_data_per_group", "n_jobs", "num_leaves", "subsample_for_bin"),
  ...trial("subsample_freq", "top_k", "saved_feature_importance_type", "verbosity"),
  ...trial("num_iteration_predict", "start_iteration_predict", "pred_early_stop", "pred_early_stop_freq"),
  ...trial("predict_contrib", "predict_disable_shape_check", "predict_leaf_index", "predict_raw_score"),
};

// catboost uses 0 for the columns after the last given one, and 1 for their weights.
const CATBOOST_WEIGHTS = columns(
  WEIGHTS,
  list("first", WEIGHT),
  text("first", WEIGHT, BRACKETS),
  byNumber(WEIGHT),
  textByNumber(WEIGHT),
);

const CATBOOST: Rules = {
  iterations: rounds,
  // Measured with 8,000 rows: 1.05 takes 0.2 s a tree and 140 MB, 1.01 1.2 s and 280 MB, 1.0001 6 GB; 1e18 overflows and takes 8 GB.
  fold_len_multiplier: most(1_000_000, "it has the parts of ordered boosting grow", 1.05),
  leaf_estimation_iterations: most(1_000, "every tree takes as many passes over the rows"),
  // catboost crashes on a column number too large for its memory.
  monotone_constraints: columns(
    SIGNS,
    list("first", SIGN),
    text("first", SIGN, BRACKETS),
    byNumber(SIGN),
    textByNumber(SIGN),
  ),
  feature_weights: CATBOOST_WEIGHTS,
  first_feature_use_penalties: CATBOOST_WEIGHTS,
  per_object_feature_penalties: CATBOOST_WEIGHTS,
  // catboost lists every number of a range, up to 3 GB, before it looks at the columns.
  ignored_features: columns("column numbers", COLUMN_RANGES, COLUMN_NUMBER),
  per_float_feature_quantization: columns("options of columns", OPTIONS_BY_NUMBER),
  // For metrics, which change no forecast, and for the model's name and metadata.
  ...trial("custom_metric", "eval_metric", "metric_period", "metadata", "name"),
  ...trial("boosting_type", "bootstrap_type", "feature_border_type", "grow_policy"),
  ...trial("leaf_estimation_backtracking", "leaf_estimation_method", "model_shrink_mode", "nan_mode"),
  ...trial("random_score_type", "sampling_frequency", "sampling_unit", "score_function", "used_ram_limit"),
  ...own("allow_writing_files", "logging_level", "loss_function", "silent", "verbose"),
  ...trial("task_type"),
  ...trial("border_count", "depth", "dev_efb_max_buckets", "dev_score_calc_obj_block_size"),
  ...trial("fold_permutation_block", "max_leaves", "random_seed", "thread_count"),
  // For categorical features, which do not exist.
  ...trial("counter_calc_method", "ctr_history_unit", "ctr_leaf_count_limit", "ctr_target_border_count"),
  ...trial("final_ctr_computation_mode", "max_ctr_complexity", "one_hot_max_size"),
};

const RULES: Readonly<Record<Library, Rules>> = {
  sklearn: SKLEARN,
  xgboost: XGBOOST,
  lightgbm: LIGHTGBM,
  catboost: CATBOOST,
};

/** @returns undefined for a parameter that needs no rule: it accepts a float, a boolean, or a word of a list. */
export function valueRule(library: Library, parameter: string): ValueRule | undefined {
  const rules = RULES[library];
  return Object.hasOwn(rules, parameter) ? rules[parameter] : undefined;
}

/** The parameters of a library that have a rule. */
export function ruleNames(library: Library): string[] {
  return Object.keys(RULES[library]);
}
