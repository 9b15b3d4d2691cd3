/**
 * Arguments that select another part of a library: an algorithm, a kind of column, a constraint. Libraries check each of them well but
 * their pairs less, so the fuzz tries every pair of them.
 */
import type { Model } from "../../src/contract/model-params/models.ts";

/** JSON texts of values that the library accepts and that are not its defaults, by parameter. */
type Structural = Readonly<Record<string, readonly string[]>>;

const quoted = (...words: readonly string[]) => words.map((word) => JSON.stringify(word));
const ON = ["true"];

const SKLEARN_FOREST: Structural = {
  criterion: quoted("absolute_error", "friedman_mse"),
  max_leaf_nodes: ["3"],
  max_features: ["1", '"log2"'],
  max_samples: ["0.5"],
  bootstrap: ["false"],
  oob_score: ON,
  warm_start: ON,
  ccp_alpha: ["0.001"],
  // For five columns, four of which one ticker has.
  monotonic_cst: ["[1,0,-1,0]", "[0,0,1,0,0]"],
};

const LASSO: Structural = {
  precompute: ON,
  positive: ON,
  selection: quoted("random"),
  warm_start: ON,
  fit_intercept: ["false"],
  copy_X: ["false"],
};

const XGBOOST: Structural = {
  booster: quoted("gblinear", "dart"),
  tree_method: quoted("exact", "approx", "hist"),
  updater: quoted("shotgun", "coord_descent", "grow_colmaker", "grow_quantile_histmaker,prune"),
  feature_selector: quoted("shuffle", "greedy"),
  grow_policy: quoted("lossguide"),
  max_leaves: ["3"],
  max_depth: ["0"],
  sampling_method: quoted("gradient_based"),
  subsample: ["0.5"],
  num_parallel_tree: ["3"],
  multi_strategy: quoted("multi_output_tree"),
  objective: quoted("reg:absoluteerror", "reg:pseudohubererror"),
  missing: ["1.0"],
  max_delta_step: ["0.1"],
  rate_drop: ["0.5"],
  monotone_constraints: quoted("(1,0,-1)"),
  interaction_constraints: quoted("[[0,1],[2]]"),
  feature_types: ['["q","q","c","q","q"]', '["q","q","c","q"]'],
  enable_categorical: ON,
  feature_weights: ["[1,0,1,1,1]"],
  base_score: ["0.5"],
};

const LIGHTGBM: Structural = {
  boosting_type: quoted("dart", "rf", "goss"),
  data_sample_strategy: quoted("goss"),
  bagging_fraction: ["0.5"],
  bagging_freq: ["1"],
  feature_fraction_bynode: ["0.5"],
  extra_trees: ON,
  linear_tree: ON,
  use_quantized_grad: ON,
  quant_train_renew_leaf: ON,
  monotone_constraints: ["[0,0,1,0,0]", '"0,0,-1,0"', "[1,0,0,0,0]", "[0,0,0,0]", "[]"],
  monotone_constraints_method: quoted("intermediate", "advanced"),
  monotone_penalty: ["1.0"],
  path_smooth: ["1.0"],
  max_depth: ["1"],
  zero_as_missing: ON,
  use_missing: ["false"],
  categorical_feature: ["[2]", '"0,2"'],
  max_cat_to_onehot: ["1"],
  max_delta_step: ["0.1"],
  cegb_penalty_feature_lazy: ["[1,1,1,1,1]"],
  cegb_penalty_feature_coupled: ["[1,1,1,1]"],
  interaction_constraints: ["[[0,1],[2]]"],
  feature_contri: ["[1,1,0.5,1]"],
  max_bin_by_feature: ["[2,3,3,255,255]"],
  objective: quoted("l1", "quantile", "mape"),
  tree_learner: quoted("feature", "data", "voting"),
  force_row_wise: ON,
  reg_sqrt: ON,
  boost_from_average: ["false"],
  enable_bundle: ["false"],
};

const CATBOOST: Structural = {
  grow_policy: quoted("Depthwise", "Lossguide"),
  score_function: quoted("L2", "NewtonL2"),
  boosting_type: quoted("Ordered"),
  bootstrap_type: quoted("Bayesian", "Bernoulli", "No"),
  subsample: ["0.5"],
  sampling_unit: quoted("Group"),
  sampling_frequency: quoted("PerTreeLevel"),
  langevin: ON,
  posterior_sampling: ON,
  model_shrink_rate: ["0.1"],
  model_shrink_mode: quoted("Decreasing"),
  monotone_constraints: ["[1,0,-1]", '{"2":1}'],
  leaf_estimation_method: quoted("Newton", "Gradient", "Exact"),
  leaf_estimation_backtracking: quoted("No", "Armijo"),
  feature_border_type: quoted("MinEntropy", "Uniform"),
  nan_mode: quoted("Forbidden"),
  border_count: ["1"],
  approx_on_full_history: ON,
  boost_from_average: ["false"],
  loss_function: quoted("MAE", "Huber:delta=0.01", "Quantile:alpha=0.1"),
  max_leaves: ["3"],
  rsm: ["0.5"],
  feature_weights: ["[1,0,1,1]"],
  first_feature_use_penalties: ['{"2":1}'],
  per_object_feature_penalties: ['{"2":1}'],
  ignored_features: ["[0]", '["0-2"]'],
  per_float_feature_quantization: ['["0:border_count=2,nan_mode=Min"]'],
  has_time: ON,
};

const STRUCTURAL: Readonly<Record<Model["name"], Structural>> = {
  random_forest: SKLEARN_FOREST,
  xgboost: XGBOOST,
  lightgbm: LIGHTGBM,
  catboost: CATBOOST,
  linear: { positive: ON, fit_intercept: ["false"], copy_X: ["false"] },
  ridge: {
    solver: quoted("svd", "cholesky", "lsqr", "sparse_cg", "sag", "saga", "lbfgs"),
    positive: ON,
    fit_intercept: ["false"],
    copy_X: ["false"],
  },
  lasso: LASSO,
  elastic_net: { ...LASSO, l1_ratio: ["1.0", "0.0"] },
  quantile: {
    solver: quoted("highs-ds", "highs-ipm", "interior-point", "revised simplex"),
    solver_options: ['{"presolve":false}', '{"maxiter":1}'],
    fit_intercept: ["false"],
  },
};

/** Without these, the 70 rows of a ticker are too few for splits by the column of categories. */
const FEW_ROWS: Partial<Record<Model["name"], readonly string[]>> = {
  lightgbm: ['"min_child_samples": 2', '"min_data_per_group": 2'],
  catboost: ['"depth": 2'],
};

export interface StructuralPair {
  readonly model: Model["name"];
  /** The two arguments, and those that so few rows need, each as JSON text `"name": value`. */
  readonly texts: readonly string[];
}

/** Every pair of structural parameters of a model, with every pair of their values. */
export const STRUCTURAL_PAIRS: readonly StructuralPair[] = Object.entries(STRUCTURAL).flatMap(
  ([model, parameters]) => pairsOf(model as Model["name"], Object.entries(parameters)),
);

function pairsOf(
  model: Model["name"],
  parameters: readonly (readonly [string, readonly string[]])[],
): StructuralPair[] {
  return parameters.flatMap(([one, values], at) =>
    parameters.slice(at + 1).flatMap(([other, others]) =>
      values.flatMap((value) =>
        others.map((otherValue) => ({
          model,
          texts: [`"${one}": ${value}`, `"${other}": ${otherValue}`, ...(FEW_ROWS[model] ?? [])],
        })),
      ),
    ),
  );
}
