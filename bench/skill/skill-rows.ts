import {
  CHOICE_MEASURES,
  CHOICE_RULES,
  type ChoiceMeasure,
  type ChoiceRule,
} from "../../src/contract/config/choice-config.ts";
import { EXAMPLE_CONFIGS } from "../../src/contract/config/example-configs.ts";
import type { Operation } from "../../src/contract/config/job-operations.ts";
import { BenchError } from "../bench.ts";

/** A row of the table: a job of ours, or a peer. */
export type SkillRow = {
  readonly name: string;
  readonly what: string;
  /** The row whose ICs are subtracted, date by date, if both run. */
  readonly than?: string;
} & (OwnModel | Peer);

export interface OwnModel {
  readonly by: "mucast";
  readonly operation: Operation;
  readonly config: object;
}

export interface Peer {
  readonly by: "peer";
  /** Whether its forecasts are returns. */
  readonly isReturn: boolean;
  /** A program of bench/peers/skill with its first arguments. */
  readonly program: readonly string[];
}

/** As in the examples, so that seconds are comparable. */
const FOLDS = { cv_test_size: 63, n_splits: 5 };

const EXAMPLES: readonly SkillRow[] = EXAMPLE_CONFIGS.map(({ name, summary, operation, config }) => ({
  name,
  what: summary,
  ...(name === "pooled-lightgbm-refits" ? { than: "pooled-lightgbm" } : {}),
  by: "mucast",
  operation,
  config,
}));

/** Every regressor that is not among the examples, on relative returns. They run by name only, since some take long. */
const OTHER_REGRESSORS: readonly SkillRow[] = [
  relative("xgboost", {
    n_estimators: 400,
    learning_rate: 0.02,
    max_depth: 5,
    min_child_weight: 2000,
    subsample: 0.7,
    colsample_bytree: 0.3,
    reg_lambda: 50,
    random_state: 42,
  }),
  relative("catboost", { iterations: 400, learning_rate: 0.03, depth: 6, l2_leaf_reg: 50, random_seed: 42 }),
  relative("random_forest", {
    n_estimators: 60,
    min_samples_leaf: 1000,
    max_features: 0.3,
    max_samples: 0.3,
    random_state: 42,
  }),
  relative("linear", {}),
  relative("lasso", { alpha: 0.001 }),
  relative("elastic_net", { alpha: 0.002, l1_ratio: 0.5 }),
  // Its linear program has a variable for each row, so one for all tickers takes too long.
  relative("quantile", { quantile: 0.5, alpha: 0.001 }, "per_ticker"),
];

/** Networks per ticker on relative returns, with all defaults otherwise; by name only. */
const OTHER_NETWORKS: readonly SkillRow[] = ["lstm", "mlp", "cnn", "transformer"].map((option) => ({
  name: option,
  what: `${option} per ticker on relative returns, defaults otherwise`,
  by: "mucast",
  operation: "run_dl_job",
  config: { "NN params": { "Dot prediction": { "current option": option, target: "relative" } } },
}));

/** The rows that run if none are named, except networks. To add a row, add it to a list of this file, and a peer to forecast.py too. */
const USUAL_ROWS: readonly SkillRow[] = [
  ...EXAMPLES,
  {
    name: "lightgbm-7-leaves",
    what: "lightgbm per ticker, 7 leaves, otherwise library defaults",
    ...regressor({ model: "lightgbm", model_params: { num_leaves: 7 } }),
  },
  {
    name: "pooled-lightgbm-defaults",
    what: "Pooled lightgbm at library defaults",
    ...regressor({ model: "lightgbm", fit: "pooled" }),
  },
  peer("plain-lightgbm", "lightgbm at library defaults on the rows of all tickers"),
  peer("plain-lightgbm-regularised", "The same with the parameters of the config pooled-lightgbm"),
  peer("qlib-lightgbm", "qlib's benchmark LightGBM for Alpha158, on z-scores of returns by date", false),
  peer("mlforecast-lightgbm", "mlforecast, global lightgbm at library defaults with five lags"),
  peer("sklearn-mlp", "MLPRegressor with early stopping on standardised features and returns"),
];

/** The pooled example configs and two further linear models as candidates of one job. */
const CHOICES = CHOICE_RULES.flatMap((rule) => CHOICE_MEASURES.map((measure) => choiceRow(rule, measure)));

function choiceRow(rule: ChoiceRule, measure: ChoiceMeasure): SkillRow {
  const byIc = measure === "ic" ? { measure } : {};
  const {
    fit: _,
    cv_test_size: __,
    n_splits: ___,
    shrinkage: ____,
    intervals: _____,
    ...ridge
  } = mlParams("pooled-ridge");
  const linear = { scaler: "standard", cross_section: true };
  const candidates = [
    ridge,
    { model: "lasso", model_params: { alpha: 0.001 }, ...linear },
    { model: "elastic_net", model_params: { alpha: 0.002, l1_ratio: 0.5 }, ...linear },
  ];
  return {
    name: `choice-${rule}${measure === "ic" ? "-ic" : ""}`,
    what: `pooled-lightgbm, pooled-ridge, lasso and elastic_net as candidates, rule ${rule}, measure ${measure}`,
    than: "pooled-lightgbm",
    by: "mucast",
    operation: "run_ml_job",
    config: {
      "ML params": { ...mlParams("pooled-lightgbm"), choice: { candidates, rule, ...byIc, warm_up: 5 } },
    },
  };
}

/** The same candidates as `CHOICES`, without relative targets and z-scores. */
const AUTOMLFORECAST = peer(
  "automlforecast",
  "mlforecast's AutoMLForecast among the candidates of choice-mean",
);

export const SKILL_ROWS: readonly SkillRow[] = [
  ...USUAL_ROWS,
  ...OTHER_REGRESSORS,
  ...OTHER_NETWORKS,
  ...CHOICES,
  AUTOMLFORECAST,
];

/** Networks are slow, so they run only by name. */
export const DEFAULT_ROWS = USUAL_ROWS.filter((row) => row.by === "peer" || row.operation === "run_ml_job");

/** The rows of these names, each once. @throws BenchError for an unknown name. */
export function rowsNamed(names: readonly string[]): SkillRow[] {
  const rows = names.map((name) => {
    const found = SKILL_ROWS.find((row) => row.name === name);
    if (found !== undefined) return found;
    const known = SKILL_ROWS.map((row) => row.name).join(", ");
    throw new BenchError(`--rows: no row is called ${JSON.stringify(name)}; there are ${known}`);
  });
  return [...new Set(rows)];
}

function example(name: string): SkillRow & OwnModel {
  const row = EXAMPLES.find((candidate) => candidate.name === name);
  if (row?.by !== "mucast") throw new Error(`no example config is called ${name}`);
  return row;
}

function mlParams(name: string): Record<string, unknown> & { readonly model_params: object } {
  return (example(name).config as { "ML params": ReturnType<typeof mlParams> })["ML params"];
}

function regressor(params: object): OwnModel {
  return { by: "mucast", operation: "run_ml_job", config: { "ML params": { ...params, ...FOLDS } } };
}

function relative(model: string, model_params: object, fit = "pooled"): SkillRow {
  const scaler = ["linear", "lasso", "elastic_net", "quantile"].includes(model) ? "standard" : "none";
  const settings = { fit, target: "relative", cross_section: true, shrinkage: "pooled" };
  const how = fit === "pooled" ? "for all tickers" : "per ticker";
  return {
    name: fit === "pooled" ? `pooled-${model}` : model,
    what: `${model} ${how} on relative returns, with z-scores of the features`,
    ...regressor({ model, model_params, scaler, ...settings }),
  };
}

function peer(name: string, what: string, isReturn = true): SkillRow {
  return { name, what, by: "peer", isReturn, program: ["forecast.py", name] };
}
