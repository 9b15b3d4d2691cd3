import { MucastError } from "../../errors/errors.ts";
import { invalidRequest } from "../../errors/faults.ts";
import { canonicalJson, type RawJson, type RawObject } from "../../json/json-text.ts";
import { findModel } from "../../model-params/models.ts";
import { resolveModelParams } from "../../model-params/resolve.ts";
import type { Warning } from "../../problems/warnings.ts";
import { LIMITS } from "../limits.ts";
import type { MlSettings } from "../ml-settings.ts";
import type { SearchPoint } from "./candidate-search.ts";
import { type Choice, namedValues, readCandidates, withFaults } from "./candidates.ts";
import type { MlCandidate, MlChoice } from "./choice-config.ts";

/** The `choice` of run_ml_job, resolved. */
export interface MlCandidates extends Choice<MlSettings> {
  /** The number of further folds, before the `nSplits` folds, that only serve the choice. */
  readonly warmUp: number;
}

const PATH = "config.ML params.choice";

/** The job's own settings, with the arguments as the caller wrote them. */
interface Base {
  readonly settings: MlSettings;
  readonly rawParams: RawObject;
}

/**
 * The candidates of a checked `choice`.
 * @param raw `choice` in the tree of `rawNumbers`: the schema's copy has lost the text of the numbers.
 * @throws MucastError invalid_request for too many or equal candidates or too many fits; unknown_model, invalid_model_params or
 *   device_unavailable, with the faults of all candidates.
 */
export function resolveMlChoice(
  { candidates: entries, rule, measure, seed, warm_up: warmUp }: MlChoice,
  raw: unknown,
  base: Base,
): { readonly choice: MlCandidates; readonly warnings: readonly Warning[] } {
  const { settings } = base;
  const { candidates, warnings } = readCandidates(
    entries,
    (raw as { candidates: readonly RawObject[] }).candidates,
    seed,
    {
      path: PATH,
      own: { settings, name: settings.model.name },
      resolve: (entry, own, point, path) => withEntry(entry, own, point, path, base),
      partsOf: (entry, own, point) => partsOf(entry, own, point, base),
      identityOf,
    },
  );
  requireFewFits(candidates.length, warmUp + settings.nSplits);
  return { choice: { rule, measure, seed, warmUp, candidates }, warnings };
}

function requireFewFits(candidates: number, folds: number): void {
  const fits = candidates * (folds + 1);
  if (fits <= LIMITS.choiceFits) return;
  const message = `needs ${fits} fits per ticker (${candidates} candidates, ${folds} folds each); at most ${LIMITS.choiceFits} are accepted: try fewer candidates, or lower warm_up or n_splits`;
  throw invalidRequest([{ path: PATH, message }]);
}

function withEntry(entry: MlCandidate, raw: RawObject, point: SearchPoint, path: string, base: Base) {
  const { scaler, fit, target, cross_section: crossSection } = entry;
  const model = entry.model === undefined ? base.settings.model : findModel(entry.model, `${path}.model`);
  const inherited = entry.model === undefined ? base.rawParams : {};
  const rawParams = {
    ...((raw.model_params as RawObject | undefined) ?? inherited),
    ...Object.fromEntries(point),
  };
  const resolved = searchFaults(point, entry, path, () =>
    resolveModelParams({ model, rawParams, path: `${path}.model_params` }),
  );
  const settings: MlSettings = {
    ...base.settings,
    model,
    estimator: resolved.estimator,
    resolvedParams: resolved.resolved,
    columnDemands: resolved.columnDemands,
    ...(scaler === undefined ? {} : { scaler }),
    ...(fit === undefined ? {} : { fit }),
    ...(target === undefined ? {} : { target }),
    ...(crossSection === undefined ? {} : { crossSection }),
  };
  return { settings, warnings: resolved.warnings };
}

/** Names the grid or the draw, instead of model_params, in the faults of arguments that come from there. */
function searchFaults<T>(point: SearchPoint, { grid }: MlCandidate, path: string, resolve: () => T): T {
  try {
    return resolve();
  } catch (error) {
    if (!(error instanceof MucastError)) throw error;
    const member = grid === undefined ? "draw" : "grid";
    const sources = new Map(
      [...point.keys()].map((name) => [`${path}.model_params.${name}`, `${path}.${member}.${name}`]),
    );
    const faults = error.data.faults ?? [];
    throw withFaults(
      error,
      faults.map((fault) => ({ ...fault, path: sources.get(fault.path) ?? fault.path })),
    );
  }
}

function partsOf(entry: MlCandidate, own: MlSettings, point: SearchPoint, base: Base): string[] {
  const { model, fit, target, scaler, crossSection } = own;
  const params = Object.entries(entry.model_params ?? {}).filter(
    ([name, value]) => model !== base.settings.model || !isEqual(value, base.rawParams[name]),
  );
  return [
    model.name,
    ...(entry.fit === undefined ? [] : [fit]),
    ...(entry.target === undefined ? [] : [target]),
    ...(entry.scaler === undefined ? [] : [scaler === "none" ? "unscaled" : scaler]),
    ...(entry.cross_section === undefined ? [] : [crossSection ? "cross_section" : "no cross_section"]),
    ...namedValues(Object.fromEntries(params), point),
  ];
}

/** Whether two values are the same, apart from how a number is written. */
function isEqual(value: unknown, raw: RawJson | undefined): boolean {
  return raw !== undefined && JSON.stringify(value) === JSON.stringify(JSON.parse(JSON.stringify(raw)));
}

function identityOf({ model, resolvedParams, scaler, fit, target, crossSection }: MlSettings): string {
  return canonicalJson({ model: model.name, resolvedParams, scaler, fit, target, crossSection });
}
