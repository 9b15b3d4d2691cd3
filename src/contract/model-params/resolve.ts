import { type Fault, MucastError } from "../errors/errors.ts";
import { listedFaults, MAX_FAULTS, show } from "../errors/faults.ts";
import { nearestName } from "../errors/nearest-name.ts";
import { isRawNumber, type RawJson, type RawNumber, type RawObject, rawNumber } from "../json/json-text.ts";
import type { Warning } from "../problems/warnings.ts";
import { type ConstructorParameters, type Parameter, parametersOf } from "./catalogue.ts";
import { type ColumnDemand, columnDemands } from "./column-demands.ts";
import { LIBRARY_TITLES, type Library, type Model } from "./models.ts";
import { asksForGpu, isRecorded, refusalReason } from "./refused-arguments.ts";
import { ruleFaults, valueFaults } from "./value-checks.ts";

export type { RawJson, RawObject };

/** The regressor that the engine constructs: `class(**params)` of that library. */
export interface Estimator {
  readonly library: Library;
  readonly class: string;
  /**
   * The caller's arguments in their order, then those that mucast adds, all under the constructor's own names.
   * JSON.stringify prints their numbers as the caller wrote them.
   */
  readonly params: RawObject;
}

export interface ResolvedModelParams {
  readonly estimator: Estimator;
  /** Every argument of the constructor with its effective value, as the output records it; null if the library decides. */
  readonly resolved: RawObject;
  /** The arguments' requirements on the columns of every fit. */
  readonly columnDemands: readonly ColumnDemand[];
  readonly warnings: readonly Warning[];
}

interface ModelParamsRequest {
  readonly model: Model;
  /** The caller's `model_params`, of a `rawNumbers` tree. */
  readonly rawParams: unknown;
  /** The path of `model_params` in messages. */
  readonly path?: string;
}

/**
 * The arguments of a model's constructor: the caller's, checked, with threads, seed and silence set.
 *
 * @throws MucastError `invalid_model_params` with every fault in `faults`, or `device_unavailable` if the only faults are arguments that
 * request a GPU.
 */
export function resolveModelParams(request: ModelParamsRequest): ResolvedModelParams {
  const { model, rawParams, path = "config.ML params.model_params" } = request;
  const known = parametersOf(model.name);
  const named = nameArguments(rawParams as RawObject, model, known, path);
  const pathOf = (own: string) => `${path}.${named.given.get(own) ?? own}`;
  const columns = columnDemands(model.library, named.params, pathOf);
  const faults = [...named.faults, ...ruleFaults(model, named.params, pathOf), ...columns.faults];
  if (faults.length > 0 || named.gpu.length > 0) throw refuse(model, faults, named, known);
  const takes = (name: string) => known.byName.has(name);
  const warnings = addDefaults(model.library, named.params, takes, named.given);
  return {
    estimator: {
      library: model.library,
      class: model.className,
      params: toObject(named.params),
    },
    resolved: toObject(effective(model.library, known, named.params)),
    columnDemands: columns.demands,
    warnings,
  };
}

interface NamedArguments {
  /** By the constructor's own names, in the caller's order. */
  readonly params: Map<string, unknown>;
  /** The caller's name of each. */
  readonly given: Map<string, string>;
  readonly faults: Fault[];
  /** Faults of arguments that request a GPU. */
  readonly gpu: Fault[];
  /** Whether a name is unknown. */
  hasUnknown: boolean;
}

function nameArguments(
  raw: RawObject,
  model: Model,
  known: ConstructorParameters,
  path: string,
): NamedArguments {
  const found: NamedArguments = {
    params: new Map(),
    given: new Map(),
    faults: [],
    gpu: [],
    hasUnknown: false,
  };
  for (const [name, value] of Object.entries(raw)) {
    const at = `${path}.${name}`;
    const parameter = known.byAnyName.get(name);
    const isDefault = isNothing(value) || (parameter !== undefined && isSame(value, parameter.default));
    const reason = refusalReason(model.library, name, parameter?.name, isDefault);
    if (asksForGpu(model.library, parameter?.name ?? name, value, isDefault)) {
      found.gpu.push(gpuFault(at, value));
    } else if (reason !== undefined) {
      found.faults.push({ path: at, message: `is not allowed: it ${reason}` });
    } else if (parameter === undefined) {
      found.hasUnknown = true;
      // The search for a suggestion takes time, and the error lists no more faults.
      const nearest =
        found.faults.length < MAX_FAULTS ? nearestName(name, known.byAnyName.keys()) : undefined;
      // The name that the library documents, in place of an alias.
      const suggestion = nearest === undefined ? undefined : known.byAnyName.get(nearest)!.name;
      found.faults.push(unknownName(at, name, model, suggestion));
    } else {
      keep(found, parameter, name, value, at);
      found.faults.push(...valueFaults(model, parameter, value, at));
    }
  }
  return found;
}

function isNothing(value: RawJson): boolean {
  return value === null || (Array.isArray(value) && value.length === 0);
}

/** Whether two values are the same to a library; numbers are compared by value. */
function isSame(a: RawJson, b: RawJson): boolean {
  const [one, other] = [JSON.stringify(a), JSON.stringify(b)];
  return one === other || (isRawNumber(a) && other !== "null" && Number(one) === Number(other));
}

/** Stores an argument under the constructor's own name; a second name of one parameter is a fault. */
function keep(found: NamedArguments, parameter: Parameter, name: string, value: unknown, path: string): void {
  const earlier = found.given.get(parameter.name);
  if (earlier === undefined) {
    found.given.set(parameter.name, name);
    found.params.set(parameter.name, value);
    return;
  }
  const both = `${earlier} and ${name} are two names of one parameter`;
  found.faults.push({ path, message: `${both}; keep one of them` });
}

function gpuFault(path: string, value: unknown): Fault {
  return {
    path,
    message: `${show(value)} asks for a GPU, and the classical models run on the CPU; leave it out`,
  };
}

function unknownName(path: string, name: string, model: Model, suggestion: string | undefined): Fault {
  const message = `${model.className} of ${LIBRARY_TITLES[model.library]} has no parameter called ${show(name)}`;
  return suggestion === undefined ? { path, message } : { path, message, suggestion };
}

function refuse(
  model: Model,
  faults: readonly Fault[],
  { gpu, hasUnknown }: NamedArguments,
  known: ConstructorParameters,
): MucastError {
  const { message, faults: listed } = listedFaults([...faults, ...gpu]);
  return new MucastError(faults.length > 0 ? "invalid_model_params" : "device_unavailable", message, {
    path: listed[0]!.path,
    faults: listed,
    ...(hasUnknown
      ? { accepted: [...known.byName.keys()].filter((name) => mayBeGiven(model.library, name)) }
      : {}),
  });
}

function mayBeGiven(library: Library, name: string): boolean {
  return refusalReason(library, name, name, false) === undefined;
}

/** The constructor's defaults, overridden by the given arguments. */
function effective(
  library: Library,
  known: ConstructorParameters,
  params: ReadonlyMap<string, unknown>,
): Map<string, unknown> {
  const isLinear = library === "xgboost" && params.get("booster") === "gblinear";
  const defaultOf = (name: string) =>
    isLinear && OTHER_IN_GBLINEAR.has(name) ? null : (known.byName.get(name)?.default ?? null);
  const merged = new Map<string, unknown>();
  for (const { name, native } of known.byName.values()) {
    if (!native && isRecorded(library, name)) merged.set(name, defaultOf(name));
  }
  for (const [name, value] of params) {
    // In all libraries but scikit-learn, None means the library's own default.
    const isLeftToLibrary = value === null && library !== "sklearn";
    merged.set(name, isLeftToLibrary ? defaultOf(name) : value);
  }
  return merged;
}

/** Parameters whose defaults differ in xgboost's linear booster; the catalogue has those of the trees. */
const OTHER_IN_GBLINEAR = new Set(["learning_rate", "reg_lambda"]);

/** Own properties, so that `__proto__` is a key like any other. */
function toObject(entries: ReadonlyMap<string, unknown>): RawObject {
  return Object.fromEntries(entries) as RawObject;
}

/** The arguments that mucast adds to a constructor's, by the catalogue's names. */
interface Additions {
  /** The argument for the number of threads. */
  readonly threads: string;
  /** The argument for the seed. */
  readonly seed: string;
  /** Keeps the library silent; added if the caller gives none of the arguments in `unless`. */
  readonly silence?: { readonly name: string; readonly value: RawNumber | false; readonly unless: string[] };
  /** Set whatever the caller gives. */
  readonly fixed?: Readonly<Record<string, false>>;
}

const SEED = 42;

const ADDITIONS: Record<Library, Additions> = {
  sklearn: { threads: "n_jobs", seed: "random_state" },
  xgboost: {
    threads: "n_jobs",
    seed: "random_state",
    silence: { name: "verbosity", value: rawNumber("0"), unless: [] },
  },
  lightgbm: {
    threads: "n_jobs",
    seed: "random_state",
    // The catalogue has one name for verbose and verbosity, so either keeps mucast from adding this.
    silence: { name: "verbose", value: rawNumber("-1"), unless: ["verbosity"] },
  },
  catboost: {
    threads: "thread_count",
    seed: "random_seed",
    // catboost accepts only one of the three.
    silence: { name: "verbose", value: false, unless: ["silent", "logging_level"] },
    fixed: { allow_writing_files: false },
  },
};

/**
 * Adds, in place, the arguments of every fit: one thread; a seed and silence if the caller gives none.
 *
 * There is one thread because several would sum in another order, and results would depend on the machine.
 *
 * @param params arguments under the catalogue's names, as a `rawNumbers` tree, in the caller's order.
 * @param takes whether the constructor has an argument of that name.
 * @param given the caller's name of each argument, for the warning.
 */
function addDefaults(
  library: Library,
  params: Map<string, unknown>,
  takes: (name: string) => boolean,
  given: ReadonlyMap<string, string>,
): Warning[] {
  const { threads, seed, silence, fixed } = ADDITIONS[library];
  const warnings: Warning[] = [];
  if (takes(threads)) {
    const requested = params.get(threads);
    if (requested !== undefined && requested !== null && JSON.stringify(requested) !== "1") {
      warnings.push({
        code: "threads_capped",
        message: `${given.get(threads) ?? threads}: ${JSON.stringify(requested)} was replaced by 1; a fit uses one thread, and the fits run side by side`,
      });
    }
    params.set(threads, rawNumber("1"));
  }
  if (takes(seed) && !params.has(seed)) params.set(seed, rawNumber(String(SEED)));
  if (silence !== undefined && ![silence.name, ...silence.unless].some((name) => params.has(name)))
    params.set(silence.name, silence.value);
  for (const [name, value] of Object.entries(fixed ?? {})) params.set(name, value);
  return warnings;
}
