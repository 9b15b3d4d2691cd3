import type { MlSettings } from "../../../contract/config/ml-settings.ts";
import { canonicalJson, type RawJson } from "../../../contract/json/json-text.ts";
import type { ModelName } from "../../../contract/model-params/models.ts";

/** The arguments of a regressor under which the first trees of a fit do not depend on how many follow. */
interface Countable {
  /** The argument for the number of trees. */
  readonly count: string;
  /** Others, by the catalogue's names: any value, or one of a list. A fit with an argument that is not named here is not shared. */
  readonly others: Readonly<Record<string, "any" | readonly string[]>>;
  /** Arguments that must be given, because the library derives them from the number of trees. */
  readonly required?: readonly string[];
  /** Whether fits of all tickers are shared, too. The memory of a forest depends on its trees. */
  readonly pooled: boolean;
}

/**
 * `engine/tests/test_tree_counts.py` compares the bits. Left out because they differ: lightgbm's and xgboost's dart, gblinear, and catboost's
 * langevin, posterior_sampling and model_shrink_rate; catboost cannot truncate trees of another grow_policy.
 */
const COUNTABLE: Partial<Record<ModelName, Countable>> = {
  lightgbm: {
    count: "n_estimators",
    others: {
      ...any("learning_rate num_leaves max_depth max_bin objective path_smooth extra_trees"),
      ...any("min_child_samples min_child_weight min_split_gain reg_alpha reg_lambda"),
      ...any("subsample subsample_freq colsample_bytree random_state n_jobs verbose"),
      ...any("importance_type alpha"),
      boosting_type: ["gbdt", "rf"],
    },
    pooled: true,
  },
  xgboost: {
    count: "n_estimators",
    others: {
      ...any("learning_rate max_depth max_leaves max_bin objective huber_slope base_score"),
      ...any("min_child_weight gamma reg_alpha reg_lambda max_delta_step num_parallel_tree"),
      ...any("subsample colsample_bytree colsample_bylevel colsample_bynode random_state"),
      ...any("n_jobs verbosity importance_type"),
      booster: ["gbtree"],
      grow_policy: ["depthwise", "lossguide"],
      tree_method: ["auto", "exact", "approx", "hist"],
    },
    pooled: true,
  },
  catboost: {
    count: "iterations",
    others: {
      ...any("learning_rate depth l2_leaf_reg random_strength rsm border_count"),
      ...any("bootstrap_type subsample bagging_temperature sampling_frequency loss_function"),
      ...any("leaf_estimation_iterations boosting_type score_function random_seed"),
      ...any("thread_count verbose allow_writing_files"),
    },
    required: ["learning_rate"],
    pooled: true,
  },
  random_forest: {
    count: "n_estimators",
    others: {
      ...any("max_features max_depth min_samples_leaf max_samples bootstrap criterion"),
      ...any("random_state n_jobs"),
    },
    pooled: false,
  },
};

/** Arguments of which any value will do. */
function any(names: string): Record<string, "any"> {
  return Object.fromEntries(names.split(" ").map((name) => [name, "any" as const]));
}

/**
 * The number of trees of a candidate, and its group: equal for candidates that differ in that number alone. Undefined if its fits cannot be
 * shared.
 */
export function treeCountOf(
  settings: MlSettings,
): { readonly group: string; readonly trees: number } | undefined {
  const { model, estimator, resolvedParams, scaler, fit, target, crossSection, ensemble } = settings;
  const countable = COUNTABLE[model.name];
  if (countable === undefined || (fit === "pooled" && !countable.pooled)) return undefined;
  const { count, required = [] } = countable;
  const { [count]: _, ...others } = estimator.params;
  const trees = JSON.stringify(resolvedParams[count] ?? null);
  const isAccepted = ([name, value]: [string, RawJson]) => {
    const accepted = Object.hasOwn(countable.others, name) ? countable.others[name]! : [];
    return accepted === "any" || (typeof value === "string" && accepted.includes(value));
  };
  if (!/^[1-9]\d*$/.test(trees) || !Object.entries(others).every(isAccepted)) return undefined;
  if (required.some((name) => (others[name] ?? null) === null)) return undefined;
  const group = { model: model.name, others, scaler, fit, target, crossSection, ensemble };
  return { group: canonicalJson(group), trees: Number(trees) };
}
