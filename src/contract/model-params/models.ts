import { fault, MucastError } from "../errors/errors.ts";
import { faultLine, show } from "../errors/faults.ts";
import { nearestName } from "../errors/nearest-name.ts";

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
} as const;

const ALIASES: Readonly<Record<string, ModelName>> = {
  rf: "random_forest",
  xgb: "xgboost",
  lgbm: "lightgbm",
  linear_regression: "linear",
};

/** The name of a library in messages, by the name of its Python module. */
export const LIBRARY_TITLES = {
  sklearn: "scikit-learn",
  xgboost: "xgboost",
  lightgbm: "lightgbm",
  catboost: "catboost",
} as const;

export type ModelName = keyof typeof CLASSES;
export type Library = keyof typeof LIBRARY_TITLES;

export interface Model {
  readonly name: ModelName;
  readonly library: Library;
  readonly className: string;
}

export const MODELS: readonly Model[] = (Object.keys(CLASSES) as ModelName[]).map((name) => {
  const [library, className] = CLASSES[name];
  return { name, library, className };
});

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
  const message = `no model is called ${show(name)}; the models are ${MODEL_NAMES.join(", ")}`;
  const found = fault(path, message, nearestName(name, MODEL_NAMES));
  const { suggestion } = found;
  const data = {
    path,
    value: name,
    accepted: MODEL_NAMES,
    ...(suggestion && { suggestion }),
    faults: [found],
  };
  throw new MucastError("unknown_model", faultLine(found), data);
}
