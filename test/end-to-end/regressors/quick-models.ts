/** Every regressor with arguments that make it quick. */

export const QUICK_MODELS: readonly (readonly [name: string, params: object])[] = [
  [
    "random_forest",
    { model_params: { n_estimators: 4, max_depth: 5, max_features: 2, min_samples_leaf: 3 } },
  ],
  ["xgboost", { model_params: { n_estimators: 5, max_depth: 3, subsample: 0.8, colsample_bytree: 0.7 } }],
  ["lightgbm", { model_params: { n_estimators: 5, num_leaves: 7, min_child_samples: 5 } }],
  ["catboost", { model_params: { iterations: 5, depth: 3 } }],
  ["linear", {}],
  ["ridge", { model_params: { alpha: 0.5 }, scaler: "standard" }],
  ["lasso", { model_params: { alpha: 0.01 }, scaler: "maxabs" }],
  ["elastic_net", { model_params: { alpha: 0.05, l1_ratio: 0.5 }, scaler: "minmax" }],
  ["quantile", { model_params: { quantile: 0.4, alpha: 0.01 }, scaler: "robust" }],
];

/** Models whose forecasts agree with a plain script to the bit. */
export const FORESTS: ReadonlySet<string> = new Set(["random_forest", "xgboost", "lightgbm", "catboost"]);
