import { type Fault, fault, MucastError } from "../errors/errors.ts";
import { listedFaults, MAX_FAULTS, show } from "../errors/faults.ts";
import { nearestName } from "../errors/nearest-name.ts";
import { isRawNumber, type RawJson, type RawObject, rawNumber } from "../json/json-text.ts";
import type { Warning } from "../problems/warnings.ts";
import { type ConstructorParameters, parametersOf } from "./catalogue.ts";
import { LIBRARY_TITLES, type Library, type Model } from "./models.ts";
import { asksForGpu, isRecorded, refusalReason } from "./refused-arguments.ts";
import { ruleFaults, valueFault } from "./value-checks.ts";
import { type ColumnDemand, columnDemand, contradictions, valueRule } from "./value-rules.ts";

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

/**
 * The arguments of a model's constructor: the caller's, checked, with threads, seed and silence set.
 *
 * @param rawParams the caller's `model_params`, of a `rawNumbers` tree, and their path in messages.
 * @returns `resolved`, which the output records: every argument with its effective value, or null if the library decides.
 * @throws MucastError `invalid_model_params` with every fault in `faults`, or `device_unavailable` if the only faults are arguments that
 * request a GPU.
 */
export function resolveModelParams({
  model,
  rawParams,
  path = "config.ML params.model_params",
}: {
  readonly model: Model;
  readonly rawParams: unknown;
  readonly path?: string;
}) {
  const { library, className } = model;
  const known = parametersOf(model.name);
  /** By the constructor's own names, in the caller's order. */
  const params = new Map<string, RawJson>();
  /** The caller's name of each. */
  const given = new Map<string, string>();
  const faults: Fault[] = [];
  const gpu: Fault[] = [];
  let accepted: string[] | undefined;
  for (const [name, value] of Object.entries(rawParams as RawObject)) {
    const at = `${path}.${name}`;
    const parameter = known.byAnyName.get(name);
    const own = parameter?.name;
    const isNothing = value === null || (Array.isArray(value) && value.length === 0);
    const isDefault = isNothing || (parameter !== undefined && isSame(value, parameter.default));
    const reason = refusalReason(library, name, own, isDefault);
    if (asksForGpu(library, own ?? name, value, isDefault)) {
      const message = `${show(value)} asks for a GPU, and the classical models run on the CPU; leave it out`;
      gpu.push(fault(at, message));
    } else if (reason !== undefined) {
      faults.push(fault(at, `is not allowed: it ${reason}`));
    } else if (parameter === undefined) {
      accepted ??= [...known.byName.keys()].filter((one) => !refusalReason(library, one, one, false));
      // The search for a suggestion takes time, and the error lists no more faults.
      const nearest = faults.length < MAX_FAULTS ? nearestName(name, known.byAnyName.keys()) : undefined;
      const message = `${className} of ${LIBRARY_TITLES[library]} has no parameter called ${show(name)}`;
      // The name that the library documents, in place of an alias.
      faults.push(fault(at, message, nearest && known.byAnyName.get(nearest)!.name));
    } else {
      const earlier = given.get(parameter.name);
      if (earlier === undefined) {
        given.set(parameter.name, name);
        params.set(parameter.name, value);
      } else
        faults.push(fault(at, `${earlier} and ${name} are two names of one parameter; keep one of them`));
      const wrong = valueFault(model, parameter, value, at);
      if (wrong !== undefined) faults.push(wrong);
    }
  }
  const pathOf = (own: string) => `${path}.${given.get(own) ?? own}`;
  faults.push(...ruleFaults(model, params, pathOf));
  const demands: ColumnDemand[] = [];
  const misread: Fault[] = [];
  for (const [own, raw] of params) {
    const rule = valueRule(library, own);
    if (raw === null || rule?.kind !== "columns") continue;
    const found = columnDemand(rule, raw, pathOf(own));
    if ("message" in found) misread.push(found);
    else if (found.count > 0) demands.push(found);
  }
  faults.push(...(misread.length > 0 ? misread : contradictions(demands)));
  if (faults.length + gpu.length > 0) {
    const { message, faults: listed } = listedFaults([...faults, ...gpu]);
    const data = { path: listed[0]!.path, faults: listed, ...(accepted && { accepted }) };
    throw new MucastError(faults.length > 0 ? "invalid_model_params" : "device_unavailable", message, data);
  }
  const warnings = addDefaults(library, params, known, given);
  // Own properties, so that `__proto__` is a key like any other.
  const estimator: Estimator = { library, class: className, params: Object.fromEntries(params) };
  return {
    estimator,
    resolved: effectiveArguments(library, known, params),
    columnDemands: demands,
    warnings,
  };
}

/** Whether two values are the same to a library; numbers are compared by value. */
function isSame(a: RawJson, b: RawJson): boolean {
  const [one, other] = [JSON.stringify(a), JSON.stringify(b)];
  return one === other || (isRawNumber(a) && other !== "null" && Number(one) === Number(other));
}

/** Parameters whose defaults differ in xgboost's linear booster; the catalogue has those of the trees. */
const OTHER_IN_GBLINEAR = ["learning_rate", "reg_lambda"];

function effectiveArguments(
  library: Library,
  { byName }: ConstructorParameters,
  params: ReadonlyMap<string, RawJson>,
): RawObject {
  const isLinear = library === "xgboost" && params.get("booster") === "gblinear";
  const defaultOf = (name: string) =>
    isLinear && OTHER_IN_GBLINEAR.includes(name) ? null : (byName.get(name)?.default ?? null);
  const recorded = [...byName.values()].filter(({ name, native }) => !native && isRecorded(library, name));
  // In all libraries but scikit-learn, None means the library's own default.
  const isLeftToLibrary = (value: RawJson) => value === null && library !== "sklearn";
  return Object.fromEntries([
    ...recorded.map(({ name }) => [name, defaultOf(name)] as const),
    ...[...params].map(([name, value]) => [name, isLeftToLibrary(value) ? defaultOf(name) : value] as const),
  ]);
}

/** The arguments that mucast adds to a constructor's, by the catalogue's names. */
interface Additions {
  readonly threads: string;
  readonly seed: string;
  /** Keeps the library silent; added if the caller gives none of the arguments in `unless`. */
  readonly silence?: { readonly name: string; readonly value: RawJson; readonly unless: readonly string[] };
}

const ADDITIONS: Record<Library, Additions> = {
  sklearn: { threads: "n_jobs", seed: "random_state" },
  xgboost: {
    threads: "n_jobs",
    seed: "random_state",
    silence: { name: "verbosity", value: rawNumber("0"), unless: ["verbosity"] },
  },
  lightgbm: {
    threads: "n_jobs",
    seed: "random_state",
    // The catalogue has one name for verbose and verbosity, so either keeps mucast from adding this.
    silence: { name: "verbose", value: rawNumber("-1"), unless: ["verbose", "verbosity"] },
  },
  catboost: {
    threads: "thread_count",
    seed: "random_seed",
    // catboost accepts only one of the three.
    silence: { name: "verbose", value: false, unless: ["verbose", "silent", "logging_level"] },
  },
};

/**
 * Adds, in place, the arguments of every fit: one thread, because several would sum in another order, and results would depend on the
 * machine; a seed and silence if the caller gives none.
 *
 * @param given the caller's name of each argument, for the warning.
 */
function addDefaults(
  library: Library,
  params: Map<string, RawJson>,
  { byName }: ConstructorParameters,
  given: ReadonlyMap<string, string>,
): Warning[] {
  const { threads, seed, silence } = ADDITIONS[library];
  const requested = JSON.stringify(params.get(threads) ?? 1);
  if (byName.has(threads)) params.set(threads, rawNumber("1"));
  if (byName.has(seed) && !params.has(seed)) params.set(seed, rawNumber("42"));
  if (silence !== undefined && !silence.unless.some((name) => params.has(name)))
    params.set(silence.name, silence.value);
  if (library === "catboost") params.set("allow_writing_files", false);
  if (requested === "1") return [];
  const message = `${given.get(threads)}: ${requested} was replaced by 1; a fit uses one thread, and the fits run side by side`;
  return [{ code: "threads_capped", message }];
}
