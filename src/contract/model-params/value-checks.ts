import type { Fault } from "../errors/errors.ts";
import { show } from "../errors/faults.ts";
import { nearestName } from "../errors/nearest-name.ts";
import { isRawNumber, type RawObject } from "../json/json-text.ts";
import { type AcceptedType, hasType, jsonType, type Parameter, stringsOf, typesText } from "./catalogue.ts";
import type { Library, Model, ModelName } from "./models.ts";
import { valueRule } from "./value-rules.ts";

/** The path of an argument, by the constructor's own name. */
type PathOf = (own: string) => string;

/** Faults of one value that need no library: its type, its choices, its characters, its size. */
export function valueFaults(model: Model, parameter: Parameter, raw: unknown, path: string): Fault[] {
  const { types, choices } = parameter;
  if (types !== undefined && !hasType(raw, types)) {
    return [{ path, message: `must be ${typesText(types)}, got ${show(raw)}` }];
  }
  if (model.library === "lightgbm" && stringsOf(raw).some((text) => /[\s\p{Cc}=#"']/u.test(text))) {
    // lightgbm passes its parameters on as one text, "name=value name=value": a space in a value starts another parameter, so `"metric":
    // "l2 input_model=..."` would set one that is refused here. It strips quotes, so `"'gpu'"` would mean gpu. A NUL ends the whole text,
    // so the parameters after it would be lost.
    return [
      { path, message: `may not contain spaces, control characters, quotes, "=" or "#", got ${show(raw)}` },
    ];
  }
  // mucast allows fewer losses than the library lists; `ruleFaults` checks them.
  const isLoss = OBJECTIVES[model.name]?.parameter === parameter.name;
  if (!isLoss && choices !== undefined && typeof raw === "string" && !choices.includes(raw)) {
    const suggestion = nearestName(raw, choices);
    const fault = { path, message: `must be one of ${choices.join(", ")}, got ${show(raw)}` };
    return [suggestion === undefined ? fault : { ...fault, suggestion }];
  }
  return limitFaults(model, parameter, raw, path);
}

/** The fault of a number beyond its limits, even if it is in a string. */
function limitFaults(model: Model, { name }: Parameter, raw: unknown, path: string): Fault[] {
  const rule = valueRule(model.library, name);
  if (rule?.kind !== "most") return [];
  const value = Number(isRawNumber(raw) ? raw.rawJSON : raw);
  const { most, mostFraction = most, least = -Infinity } = rule;
  const limit = jsonType(raw) === "float" ? mostFraction : most;
  if (raw === null || !(value > limit || value < least)) return [];
  const bound = value > limit ? `may be at most ${limit}` : `must be at least ${least}`;
  return [{ path, message: `${bound}, since ${rule.reason}; got ${show(raw)}` }];
}

/**
 * Faults by rules about the meaning of a parameter.
 * @param params arguments by the constructor's own names.
 * @param pathOf the path of each.
 */
export function ruleFaults(model: Model, params: ReadonlyMap<string, unknown>, pathOf: PathOf): Fault[] {
  return [
    ...objectiveFaults(model, params, pathOf),
    ...libraryFaults(model, params, pathOf),
    ...pairFaults(model.library, params, pathOf),
  ];
}

function objectiveFaults(model: Model, params: ReadonlyMap<string, unknown>, pathOf: PathOf): Fault[] {
  const objectives = OBJECTIVES[model.name];
  const objective = objectives && params.get(objectives.parameter);
  if (objectives === undefined || typeof objective !== "string") return [];
  if (!isAllowedObjective(model.name, objectives, objective)) {
    const { accepted } = objectives;
    const suggestion = nearestName(objective, accepted);
    const message = `only regression is allowed, got ${show(objective)}; accepted: ${accepted.join(", ")}`;
    const fault = { path: pathOf(objectives.parameter), message };
    return [suggestion === undefined ? fault : { ...fault, suggestion }];
  }
  if (objective !== "reg:quantileerror" || isOneQuantile(params.get("quantile_alpha"))) return [];
  const got = params.has("quantile_alpha") ? show(params.get("quantile_alpha")) : "none";
  return [
    {
      path: pathOf("quantile_alpha"),
      message: `reg:quantileerror takes exactly one quantile, such as 0.5, got ${got}`,
    },
  ];
}

function libraryFaults(model: Model, params: ReadonlyMap<string, unknown>, pathOf: PathOf): Fault[] {
  if (model.name === "catboost") return catboostFaults(params, pathOf);
  if (model.name === "xgboost" && params.get("process_type") === "update") {
    const message = '"update" changes the trees of an existing model, and every fit starts anew';
    return [{ path: pathOf("process_type"), message }];
  }
  if (model.name === "xgboost") return xgboostVerbosityFaults(params, pathOf);
  if (Array.isArray(params.get("precompute"))) {
    const message = "may not be a Gram matrix, which is one of certain rows: every fit has rows of its own";
    return [{ path: pathOf("precompute"), message: `${message}; true lets scikit-learn compute it` }];
  }
  const options = params.get("solver_options") ?? null;
  if (model.name !== "quantile" || jsonType(options) !== "object") return [];
  return solverOptionFaults(options as RawObject, pathOf("solver_options"));
}

/** The trial fit sets its own verbosity, so it does not find an invalid one. */
function xgboostVerbosityFaults(params: ReadonlyMap<string, unknown>, pathOf: PathOf): Fault[] {
  const verbosity = params.get("verbosity") ?? null;
  const text = isRawNumber(verbosity) ? verbosity.rawJSON : verbosity;
  if (text === null || (typeof text === "string" && /^[0-3]$/.test(text))) return [];
  return [{ path: pathOf("verbosity"), message: `must be an integer from 0 to 3, got ${show(verbosity)}` }];
}

/**
 * The options that scipy's `linprog` documents for the HiGHS solvers, without time_limit. It passes every other option on
 * to HiGHS, some of whose options name files to read and to write.
 */
const SOLVER_OPTIONS: Readonly<Record<string, readonly AcceptedType[]>> = {
  maxiter: ["int"],
  presolve: ["bool"],
  disp: ["bool"],
  dual_feasibility_tolerance: ["int", "float"],
  primal_feasibility_tolerance: ["int", "float"],
  ipm_optimality_tolerance: ["int", "float"],
  simplex_dual_edge_weight_strategy: ["string"],
};

function solverOptionFaults(options: RawObject, path: string): Fault[] {
  const names = Object.keys(SOLVER_OPTIONS);
  return Object.entries(options).flatMap(([name, value]) => {
    const own = `${path}.${name}`;
    if (name === "time_limit") {
      const message = "is not allowed: a result that depends on the clock cannot be repeated; use maxiter";
      return [{ path: own, message }];
    }
    const types = Object.hasOwn(SOLVER_OPTIONS, name) ? SOLVER_OPTIONS[name] : undefined;
    if (types !== undefined) {
      return hasType(value, types)
        ? []
        : [{ path: own, message: `must be ${typesText(types)}, got ${show(value)}` }];
    }
    const fault = { path: own, message: `is not one of the options ${names.join(", ")}` };
    const suggestion = nearestName(name, names);
    return [suggestion === undefined ? fault : { ...fault, suggestion }];
  });
}

const CATBOOST_VERBOSITY = ["verbose", "silent", "logging_level"];

function catboostFaults(params: ReadonlyMap<string, unknown>, pathOf: PathOf): Fault[] {
  const faults: Fault[] = [];
  const writing = params.get("allow_writing_files") ?? false;
  if (writing !== false) {
    const message = `must be false, got ${show(writing)}: a config may not reach the file system`;
    faults.push({ path: pathOf("allow_writing_files"), message });
  }
  const [first, ...others] = CATBOOST_VERBOSITY.filter((name) => (params.get(name) ?? null) !== null);
  for (const other of others) {
    faults.push({ path: pathOf(other), message: `${first} says the same in another way; keep one of them` });
  }
  return faults;
}

/** Two parameters of a library whose values are valid one by one, but together crash its process or fail a fit. */
interface PairRule {
  readonly library: Library;
  /** The parameter whose path the fault reports, and the other one, by the constructor's own names. */
  readonly pair: readonly [string, string];
  /** What to do; undefined if the values are compatible. Absent arguments are undefined. */
  readonly fault: (given: ReadonlyMap<string, unknown>, otherPath: string) => string | undefined;
}

const PAIR_RULES: readonly PairRule[] = [
  {
    // 500 rows take 0.5 s a tree with depth 12, 3 s with 14, and over a minute with 16.
    library: "catboost",
    pair: ["depth", "boosting_type"],
    fault: (given, otherPath) => {
      if (given.get("boosting_type") !== "Ordered" || numbersIn(given.get("depth")).every((d) => d <= 12))
        return;
      return `may be at most 12 with ${otherPath} "Ordered", which takes minutes a tree beyond`;
    },
  },
  {
    // lightgbm throws in a thread that catches nothing: SIGABRT.
    library: "lightgbm",
    pair: ["monotone_constraints", "categorical_feature"],
    fault: (given, otherPath) => {
      const signs = numbersIn(given.get("monotone_constraints"));
      const both = [...new Set(numbersIn(given.get("categorical_feature")))].filter(
        (column) => (signs[column] ?? 0) !== 0,
      );
      if (both.length === 0) return undefined;
      const columns = both.length === 1 ? `column ${both[0]}` : `columns ${both.join(", ")}`;
      return `constrains ${columns}, which ${otherPath} names: categories have no order; give 0 there, or leave it out of the categories`;
    },
  },
  {
    // lightgbm creates no constraints for an empty list, and its advanced method reads them for every split by categories: SIGSEGV.
    library: "lightgbm",
    pair: ["monotone_constraints_method", "categorical_feature"],
    fault: (given, otherPath) => {
      const isAlone = numbersIn(given.get("monotone_constraints")).length === 0;
      const isAdvanced = given.get("monotone_constraints_method") === "advanced";
      if (!isAlone || !isAdvanced || numbersIn(given.get("categorical_feature")).length === 0)
        return undefined;
      return `"advanced" needs monotone_constraints beside ${otherPath}, one value a column; without constraints, leave the method out`;
    },
  },
];

/** Faults of incompatible values. @param params arguments by the constructor's own names. @param pathOf the path of each. */
function pairFaults(
  library: Library,
  params: ReadonlyMap<string, unknown>,
  pathOf: (own: string) => string,
): Fault[] {
  return PAIR_RULES.filter((rule) => rule.library === library).flatMap(({ pair: [own, other], fault }) => {
    const message = fault(params, pathOf(other));
    return message === undefined
      ? []
      : [{ path: pathOf(own), message: `${message}; got ${show(params.get(own))}` }];
  });
}

/** The numbers of a list, of a list in a string, or one number; value-rules.ts refuses other notations. */
export function numbersIn(raw: unknown): number[] {
  if (isRawNumber(raw)) return [Number(raw.rawJSON)];
  if (Array.isArray(raw)) return raw.flatMap(numbersIn);
  return typeof raw === "string" && raw !== "" ? raw.split(",").map(Number) : [];
}

/**
 * The losses that a model may use: regression only, because predictions are next-day log-returns. Names are the library's own, with its
 * aliases; `parameter` is the catalogue's name of the argument.
 */
interface Objectives {
  readonly parameter: string;
  readonly accepted: readonly string[];
  /** Whether the library compares names without case. */
  readonly anyCase?: true;
}

/** Without the models whose loss cannot be chosen. */
export const OBJECTIVES: Partial<Record<ModelName, Objectives>> = {
  random_forest: {
    parameter: "criterion",
    accepted: ["squared_error", "absolute_error", "friedman_mse"],
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
  },
};

/** catboost's losses have options after a colon (`Quantile:alpha=0.1`), which catboost itself checks. */
function isAllowedObjective(model: ModelName, { accepted, anyCase }: Objectives, objective: string): boolean {
  const name = model === "catboost" ? objective.replace(/:.*$/s, "") : objective;
  return accepted.includes(anyCase ? name.toLowerCase() : name);
}

/** Each space and each digit has one place in it: with two, a text of 30 KB that does not match would take hours. */
const ONE_NUMBER = /^\s*(?:[[(]\s*)?[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?\s*(?:,\s*)?(?:[\])]\s*)?$/;

/**
 * Whether xgboost's `quantile_alpha` is one quantile. Several would give one column of predictions each, and in some spellings (`"0.1
 * 0.2"`) xgboost reads only the first quantile, without an error.
 * @param raw a value of a `rawNumbers` tree.
 */
function isOneQuantile(raw: unknown): boolean {
  if (Array.isArray(raw)) return raw.length === 1 && isRawNumber(raw[0]);
  return isRawNumber(raw) || (typeof raw === "string" && ONE_NUMBER.test(raw));
}
