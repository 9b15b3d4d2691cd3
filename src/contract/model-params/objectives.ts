import { isRawNumber } from "../json/json-text.ts";
import type { ModelName } from "./models.ts";

/**
 * The losses that a model may use: regression only, because predictions are next-day log-returns. Names are the library's own, with its
 * aliases; `parameter` is the catalogue's name of the argument.
 */
interface Objectives {
  readonly parameter: string;
  readonly accepted: readonly string[];
  /** Whether the library compares names without case. */
  readonly anyCase: boolean;
}

/** Null for models whose loss cannot be chosen. */
const OBJECTIVES: Readonly<Record<ModelName, Objectives | null>> = {
  random_forest: {
    parameter: "criterion",
    accepted: ["squared_error", "absolute_error", "friedman_mse"],
    anyCase: false,
  },
  xgboost: {
    parameter: "objective",
    accepted: [
      "reg:squarederror",
      // The old name of squarederror, which xgboost still accepts.
      "reg:linear",
      "reg:absoluteerror",
      "reg:pseudohubererror",
      "reg:squaredlogerror",
      "reg:quantileerror",
    ],
    anyCase: false,
  },
  lightgbm: {
    parameter: "objective",
    // One line each: l2, l1, rmse and mape with the aliases of lightgbm's C++ ParseObjectiveAlias.
    accepted: [
      ...["l2", "regression", "regression_l2", "mean_squared_error", "mse"],
      ...["l1", "regression_l1", "mean_absolute_error", "mae"],
      ...["rmse", "l2_root", "root_mean_squared_error"],
      ...["mape", "mean_absolute_percentage_error"],
      "huber",
      "fair",
      "quantile",
    ],
    anyCase: true,
  },
  catboost: {
    parameter: "loss_function",
    accepted: ["RMSE", "MAE", "Quantile", "Huber", "Lq", "LogCosh", "Expectile", "MAPE"],
    anyCase: false,
  },
  linear: null,
  ridge: null,
  lasso: null,
  elastic_net: null,
  quantile: null,
};

/** @returns undefined for models whose loss cannot be chosen. */
export function objectivesOf(model: ModelName): Objectives | undefined {
  return OBJECTIVES[model] ?? undefined;
}

/**
 * Whether a loss is allowed. catboost's losses have options after a colon (`Quantile:alpha=0.1`), which catboost itself
 * checks.
 */
export function isAllowedObjective(model: ModelName, objective: string): boolean {
  const known = OBJECTIVES[model];
  if (known === null) return true;
  const name = model === "catboost" ? objective.replace(/:.*$/s, "") : objective;
  return known.accepted.includes(known.anyCase ? name.toLowerCase() : name);
}

const ONE_NUMBER = /^\s*[[(]?\s*([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*,?\s*[\])]?\s*$/;

/**
 * Whether xgboost's `quantile_alpha` is one quantile. Several would give one column of predictions each, and in some spellings (`"0.1
 * 0.2"`) xgboost reads only the first quantile, without an error.
 * @param raw a value of a `rawNumbers` tree.
 */
export function isOneQuantile(raw: unknown): boolean {
  if (Array.isArray(raw)) return raw.length === 1 && isRawNumber(raw[0]);
  return isRawNumber(raw) || (typeof raw === "string" && ONE_NUMBER.test(raw));
}
