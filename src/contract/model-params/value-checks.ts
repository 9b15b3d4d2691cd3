import { type Fault, fault } from "../errors/errors.ts";
import { show } from "../errors/faults.ts";
import { nearestName } from "../errors/nearest-name.ts";
import { isRawNumber, type RawObject } from "../json/json-text.ts";
import { type AcceptedType, hasType, jsonType, type Parameter, stringsOf, typesText } from "./catalogue.ts";
import type { Library, Model, ModelName } from "./models.ts";
import { wordsIn } from "./refused-arguments.ts";
import { valueRule } from "./value-rules.ts";

/** The fault of one value that needs no library: its type, its choices, its characters, its size. */
export function valueFault(
  { name: model, library }: Model,
  { name, types, choices }: Parameter,
  raw: unknown,
  path: string,
): Fault | undefined {
  const got = `got ${show(raw)}`;
  if (types !== undefined && !hasType(raw, types)) return fault(path, `must be ${typesText(types)}, ${got}`);
  // lightgbm passes its parameters on as one text, "name=value name=value": a space in a value starts another parameter, so `"metric": "l2
  // input_model=..."` would set one that is refused here. It strips quotes, so `"'gpu'"` would mean gpu. A NUL ends the whole text.
  if (library === "lightgbm" && stringsOf(raw).some((text) => /[\s\p{Cc}=#"']/u.test(text)))
    return fault(path, `may not contain spaces, control characters, quotes, "=" or "#", ${got}`);
  // mucast allows fewer losses than the library lists; `ruleFaults` checks them.
  const isLoss = OBJECTIVES[model]?.[0] === name;
  if (!isLoss && choices !== undefined && typeof raw === "string" && !choices.includes(raw))
    return fault(path, `must be one of ${choices.join(", ")}, ${got}`, nearestName(raw, choices));
  const rule = valueRule(library, name);
  if (rule?.kind !== "most" || raw === null) return undefined;
  // The number may be in a string.
  const value = Number(isRawNumber(raw) ? raw.rawJSON : raw);
  const { mostFraction = rule.most, least = -Infinity } = rule;
  const limit = jsonType(raw) === "float" ? mostFraction : rule.most;
  if (!(value > limit || value < least)) return undefined;
  const bound = value > limit ? `may be at most ${limit}` : `must be at least ${least}`;
  return fault(path, `${bound}, since ${rule.reason}; ${got}`);
}

/**
 * The parameter of a model's loss, and the losses that it may have: regression only, because predictions are next-day log-returns. Names are
 * the library's own, with its aliases. Without the models whose loss cannot be chosen.
 */
export const OBJECTIVES: Partial<Record<ModelName, readonly [parameter: string, accepted: string]>> = {
  random_forest: ["criterion", "squared_error absolute_error friedman_mse"],
  xgboost: [
    "objective",
    // reg:linear is the old name of squarederror, which xgboost still accepts.
    `reg:squarederror reg:linear reg:absoluteerror reg:pseudohubererror reg:squaredlogerror
      reg:quantileerror`,
  ],
  lightgbm: [
    "objective",
    // One line each: l2, l1, rmse and mape with the aliases of lightgbm's C++ ParseObjectiveAlias.
    `l2 regression regression_l2 mean_squared_error mse
      l1 regression_l1 mean_absolute_error mae
      rmse l2_root root_mean_squared_error
      mape mean_absolute_percentage_error
      huber fair quantile`,
  ],
  catboost: ["loss_function", "RMSE MAE Quantile Huber Lq LogCosh Expectile MAPE"],
};

type Given = (own: string) => unknown;

/**
 * What is wrong with a value that has the right type, by library and parameter, and what to do. It gets the value and the other arguments,
 * null for an absent one.
 */
const MEANING_RULES: Readonly<
  Record<`${Library}.${string}`, (value: unknown, given: Given, pathOf: Given) => string | false>
> = {
  "xgboost.quantile_alpha": (value, given) =>
    given("objective") === "reg:quantileerror" &&
    !isOneQuantile(value) &&
    `reg:quantileerror takes exactly one quantile, such as 0.5, got ${value === null ? "none" : show(value)}`,
  "catboost.allow_writing_files": (value) =>
    value !== null &&
    value !== false &&
    `must be false, got ${show(value)}: a config may not reach the file system`,
  "catboost.silent": (value, given) => value !== null && given("verbose") !== null && sameAs("verbose"),
  "catboost.logging_level": (value, given) => {
    const first = ["verbose", "silent"].find((name) => given(name) !== null);
    return value !== null && first !== undefined && sameAs(first);
  },
  "xgboost.process_type": (value) =>
    value === "update" && '"update" changes the trees of an existing model, and every fit starts anew',
  // The trial fit sets its own verbosity, so it does not find an invalid one.
  "xgboost.verbosity": (value) =>
    value !== null &&
    !/^"?[0-3]"?$/.test(JSON.stringify(value)) &&
    `must be an integer from 0 to 3, got ${show(value)}`,
  "sklearn.precompute": (value) =>
    Array.isArray(value) &&
    "may not be a Gram matrix, which is one of certain rows: every fit has rows of its own; true lets scikit-learn compute it",
  // 500 rows take 0.5 s a tree with depth 12, 3 s with 14, and over a minute with 16.
  "catboost.depth": (value, given, pathOf) =>
    given("boosting_type") === "Ordered" &&
    numbersIn(value).some((depth) => depth > 12) &&
    `may be at most 12 with ${pathOf("boosting_type")} "Ordered", which takes minutes a tree beyond; got ${show(value)}`,
  // lightgbm throws in a thread that catches nothing: SIGABRT.
  "lightgbm.monotone_constraints": (value, given, pathOf) => {
    const signs = numbersIn(value);
    const categories = new Set(numbersIn(given("categorical_feature")));
    const both = [...categories].filter((column) => (signs[column] ?? 0) !== 0);
    const columns = `column${both.length === 1 ? "" : "s"} ${both.join(", ")}`;
    return (
      both.length > 0 &&
      `constrains ${columns}, which ${pathOf("categorical_feature")} names: categories have no order; give 0 there, or leave it out of the categories; got ${show(value)}`
    );
  },
  // lightgbm creates no constraints for an empty list, and its advanced method reads them for every split by categories: SIGSEGV.
  "lightgbm.monotone_constraints_method": (value, given, pathOf) =>
    value === "advanced" &&
    numbersIn(given("monotone_constraints")).length === 0 &&
    numbersIn(given("categorical_feature")).length > 0 &&
    `"advanced" needs monotone_constraints beside ${pathOf("categorical_feature")}, one value a column; without constraints, leave the method out; got ${show(value)}`,
};

function sameAs(name: string): string {
  return `${name} says the same in another way; keep one of them`;
}

/** Faults by rules about the meaning of parameters. @param params arguments by the constructor's own names. @param pathOf the path of each. */
export function ruleFaults(
  { name, library }: Model,
  params: ReadonlyMap<string, unknown>,
  pathOf: (own: string) => string,
): Fault[] {
  const given = (own: string) => params.get(own) ?? null;
  const faults: Fault[] = [];
  const [parameter = "", accepted = ""] = OBJECTIVES[name] ?? [];
  const objective = given(parameter);
  const names = wordsIn(accepted);
  if (typeof objective === "string") {
    // catboost's losses have options after a colon (`Quantile:alpha=0.1`), which it checks; lightgbm compares names without case.
    const loss = library === "catboost" ? objective.replace(/:.*$/s, "") : objective;
    if (!names.includes(library === "lightgbm" ? loss.toLowerCase() : loss)) {
      const message = `only regression is allowed, got ${show(objective)}; accepted: ${names.join(", ")}`;
      faults.push(fault(pathOf(parameter), message, nearestName(objective, names)));
    }
  }
  for (const [key, find] of Object.entries(MEANING_RULES)) {
    const [owner, own] = key.split(".") as [string, string];
    const message = owner === library && find(given(own), given, pathOf);
    if (message) faults.push(fault(pathOf(own), message));
  }
  const options = given("solver_options");
  if (name === "quantile" && jsonType(options) === "object")
    faults.push(...solverOptionFaults(options as RawObject, pathOf("solver_options")));
  return faults;
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
    const at = `${path}.${name}`;
    if (name === "time_limit")
      return fault(at, "is not allowed: a result that depends on the clock cannot be repeated; use maxiter");
    if (!names.includes(name))
      return fault(at, `is not one of the options ${names.join(", ")}`, nearestName(name, names));
    const types = SOLVER_OPTIONS[name]!;
    return hasType(value, types) ? [] : fault(at, `must be ${typesText(types)}, got ${show(value)}`);
  });
}

/** The numbers of a list, of a list in a string, or one number; RULES refuse other notations. */
export function numbersIn(raw: unknown): number[] {
  if (isRawNumber(raw)) return [Number(raw.rawJSON)];
  if (Array.isArray(raw)) return raw.flatMap(numbersIn);
  return typeof raw === "string" && raw !== "" ? raw.split(",").map(Number) : [];
}

/** Each space and each digit has one place in it: with two, a text of 30 KB that does not match would take hours. */
const ONE_NUMBER = /^\s*(?:[[(]\s*)?[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?\s*(?:,\s*)?(?:[\])]\s*)?$/;

/**
 * Whether xgboost's `quantile_alpha` is one quantile. Several would give one column of predictions each, and in some spellings (`"0.1
 * 0.2"`) xgboost reads only the first, without an error.
 */
function isOneQuantile(raw: unknown): boolean {
  if (Array.isArray(raw)) return raw.length === 1 && isRawNumber(raw[0]);
  return isRawNumber(raw) || (typeof raw === "string" && ONE_NUMBER.test(raw));
}
