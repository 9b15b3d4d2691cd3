import { MucastError } from "../errors/errors.ts";
import { faultLine, show } from "../errors/faults.ts";
import { nearestName } from "../errors/nearest-name.ts";

/** The library of a model, by the name of its Python module. */
export type Library = "sklearn" | "xgboost" | "lightgbm" | "catboost";

/** A regressor. */
export interface Model {
  /** The name in configs and outputs. */
  readonly name: ModelName;
  readonly library: Library;
  /** The class in that library. */
  readonly className: string;
}

/** Every regressor with its library and class, in the order of the docs. */
const CLASSES = {
  random_forest: ["sklearn", "RandomForestRegressor"],
  xgboost: ["xgboost", "XGBRegressor"],
  lightgbm: ["lightgbm", "LGBMRegressor"],
  catboost: ["catboost", "CatBoostRegressor"],
  linear: ["sklearn", "LinearRegression"],
  ridge: ["sklearn", "Ridge"],
  lasso: ["sklearn", "Lasso"],
  elastic_net: ["sklearn", "ElasticNet"],
  quantile: ["sklearn", "QuantileRegressor"],
} as const satisfies Record<string, readonly [Library, string]>;

export type ModelName = keyof typeof CLASSES;

const ALIASES: Readonly<Record<string, ModelName>> = {
  rf: "random_forest",
  xgb: "xgboost",
  lgbm: "lightgbm",
  linear_regression: "linear",
};

/** The name of a library in messages. */
export const LIBRARY_TITLES: Readonly<Record<Library, string>> = {
  sklearn: "scikit-learn",
  xgboost: "xgboost",
  lightgbm: "lightgbm",
  catboost: "catboost",
};

/** Every regressor, in the order of the docs. */
export const MODELS: readonly Model[] = Object.entries(CLASSES).map(([name, [library, className]]) => ({
  name: name as ModelName,
  library,
  className,
}));

/** Every name that a config may use, including aliases. */
export const MODEL_NAMES: readonly string[] = [...MODELS.map(({ name }) => name), ...Object.keys(ALIASES)];

/**
 * The model that a config names, in any case.
 * @throws MucastError `unknown_model` with the accepted names and the nearest one; there is never a fallback.
 */
export function findModel(name: string, path = "config.ML params.model"): Model {
  const lower = name.toLowerCase();
  const known = Object.hasOwn(ALIASES, lower) ? ALIASES[lower] : lower;
  const model = MODELS.find((candidate) => candidate.name === known);
  if (model !== undefined) return model;
  const suggestion = nearestName(name, MODEL_NAMES);
  const near = suggestion === undefined ? {} : { suggestion };
  const message = `no model is called ${show(name)}; the models are ${MODEL_NAMES.join(", ")}`;
  const fault = { path, message, ...near };
  throw new MucastError("unknown_model", faultLine(fault), {
    path,
    value: name,
    accepted: MODEL_NAMES,
    ...near,
    faults: [fault],
  });
}
