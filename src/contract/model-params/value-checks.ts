import type { Fault } from "../errors/errors.ts";
import { show } from "../errors/faults.ts";
import { nearestName } from "../errors/nearest-name.ts";
import { isRawNumber, type RawObject } from "../json/json-text.ts";
import type { Parameter } from "./catalogue.ts";
import { type AcceptedType, hasType, inWords, jsonType, stringsOf } from "./json-types.ts";
import type { Model } from "./models.ts";
import { isAllowedObjective, isOneQuantile, objectivesOf } from "./objectives.ts";
import { pairFaults } from "./pair-rules.ts";
import { valueRule } from "./value-rules.ts";

/** The path of an argument, by the constructor's own name. */
type PathOf = (own: string) => string;

/** Faults of one value that need no library: its type, its choices, its characters, its size. */
export function valueFaults(model: Model, parameter: Parameter, raw: unknown, path: string): Fault[] {
  const { types, choices } = parameter;
  if (types !== undefined && !hasType(raw, types)) {
    return [{ path, message: `must be ${inWords(types)}, got ${show(raw)}` }];
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
  const isLoss = objectivesOf(model.name)?.parameter === parameter.name;
  if (!isLoss && choices !== undefined && typeof raw === "string" && !choices.includes(raw)) {
    const suggestion = nearestName(raw, choices);
    const fault = { path, message: `must be one of ${choices.join(", ")}, got ${show(raw)}` };
    return [suggestion === undefined ? fault : { ...fault, suggestion }];
  }
  return limitFaults(model, parameter, raw, path);
}

/** The fault of a number above its limit, even if it is in a string. */
function limitFaults(model: Model, { name }: Parameter, raw: unknown, path: string): Fault[] {
  const rule = valueRule(model.library, name);
  if (rule?.kind !== "most") return [];
  const value = Number(isRawNumber(raw) ? raw.rawJSON : raw);
  const { most, mostFraction = most } = rule;
  const limit = jsonType(raw) === "float" ? mostFraction : most;
  if (!(value > limit)) return [];
  return [{ path, message: `may be at most ${limit}, since ${rule.reason}; got ${show(raw)}` }];
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
  const objectives = objectivesOf(model.name);
  const objective = objectives && params.get(objectives.parameter);
  if (objectives === undefined || typeof objective !== "string") return [];
  if (!isAllowedObjective(model.name, objective)) {
    const accepted = objectives.accepted;
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
        : [{ path: own, message: `must be ${inWords(types)}, got ${show(value)}` }];
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
