import { type Fault, MucastError } from "../errors/errors.ts";
import { invalidRequest, listedFaults } from "../errors/faults.ts";
import { canonicalJson, isRawNumber, type RawJson, type RawObject } from "../json/json-text.ts";
import { findModel } from "../model-params/models.ts";
import { resolveModelParams } from "../model-params/resolve.ts";
import type { Warning } from "../problems/warnings.ts";
import { drawnPoints, gridPoints, gridSize, type SearchPoint } from "./candidate-search.ts";
import type { ChoiceRule, ChoiceScope, MlCandidate, MlChoice } from "./choice-config.ts";
import { LIMITS } from "./limits.ts";
import type { MlSettings } from "./ml-settings.ts";

/** A config's `choice` with every candidate resolved. */
export interface Choice {
  readonly rule: ChoiceRule;
  readonly over: ChoiceScope;
  readonly seed: number;
  /** The number of further folds, before the `nSplits` folds, that only serve the choice. */
  readonly warmUp: number;
  /** The first is the config itself. */
  readonly candidates: readonly Candidate[];
}

export interface Candidate {
  /** Unique within the job. */
  readonly label: string;
  readonly settings: MlSettings;
}

const PATH = "config.ML params.choice";

/** The job's own settings, with the arguments as the caller wrote them. */
interface Base {
  readonly settings: MlSettings;
  readonly rawParams: RawObject;
}

/**
 * The candidates of a checked `choice`: the config itself, then the entries with their grids and draws, in order.
 * @param raw `choice` in the tree of `rawNumbers`: the schema's copy has lost the text of the numbers.
 * @throws MucastError invalid_request for too many or equal candidates; unknown_model, invalid_model_params or device_unavailable, with the
 *   faults of all candidates.
 */
export function resolveChoice(
  { candidates: entries, rule, over, seed, warm_up: warmUp }: MlChoice,
  raw: unknown,
  base: Base,
): { readonly choice: Choice; readonly warnings: readonly Warning[] } {
  requireFewCandidates(entries);
  const rawEntries = (raw as { candidates: readonly RawObject[] }).candidates;
  const resolved = entries.map((entry, i) => resolveEntry(entry, rawEntries[i]!, i, seed, base));
  const errors = resolved.flatMap(({ errors: own }) => own);
  if (errors.length > 0) throw merged(errors);
  const own: LabelledCandidate = {
    settings: base.settings,
    path: "config.ML params",
    parts: [base.settings.model.name],
  };
  const all = [own, ...resolved.flatMap(({ candidates }) => candidates)];
  requireDifferent(all);
  requireFewFits(all.length, warmUp + base.settings.nSplits);
  return {
    choice: { rule, over, seed, warmUp, candidates: uniquelyLabelled(all) },
    warnings: distinct(resolved.flatMap(({ warnings }) => warnings)),
  };
}

function requireFewCandidates(entries: readonly MlCandidate[]): void {
  const count = entries.reduce((sum, entry) => sum + sizeOf(entry), 1);
  if (count <= LIMITS.candidates) return;
  const message = `expands to ${count} candidates, with ML params itself as the first; at most ${LIMITS.candidates} are accepted`;
  throw invalidRequest([{ path: `${PATH}.candidates`, message }]);
}

function sizeOf({ grid, draws }: MlCandidate): number {
  return grid === undefined ? (draws ?? 1) : gridSize(grid);
}

function requireFewFits(candidates: number, folds: number): void {
  const fits = candidates * (folds + 1);
  if (fits <= LIMITS.choiceFits) return;
  const message = `needs ${fits} fits per ticker (${candidates} candidates, ${folds} folds each); at most ${LIMITS.choiceFits} are accepted: try fewer candidates, or lower warm_up or n_splits`;
  throw invalidRequest([{ path: PATH, message }]);
}

/** A candidate, where its entry is, and the parts of its label. */
interface LabelledCandidate {
  readonly settings: MlSettings;
  readonly path: string;
  /** The caller's label. */
  readonly label?: string | undefined;
  readonly parts: readonly string[];
}

interface ResolvedEntry {
  readonly candidates: readonly LabelledCandidate[];
  readonly warnings: readonly Warning[];
  readonly errors: readonly MucastError[];
}

function resolveEntry(
  entry: MlCandidate,
  raw: RawObject,
  i: number,
  seed: number,
  base: Base,
): ResolvedEntry {
  const path = `${PATH}.candidates[${i}]`;
  const candidates: LabelledCandidate[] = [];
  const warnings: Warning[] = [];
  const errors: MucastError[] = [];
  for (const point of pointsOf(entry, raw, seed, i)) {
    try {
      const { settings, warnings: own } = withEntry(entry, raw, point, path, base);
      candidates.push({ settings, path, label: entry.label, parts: labelParts(entry, point, settings) });
      warnings.push(...own);
    } catch (error) {
      if (!(error instanceof MucastError)) throw error;
      errors.push(error);
      if (error.code === "unknown_model") break;
    }
  }
  return { candidates, warnings, errors };
}

function pointsOf(
  { grid, draws, draw }: MlCandidate,
  raw: RawObject,
  seed: number,
  stream: number,
): Iterable<SearchPoint> {
  if (grid !== undefined) return gridPoints(raw.grid as Readonly<Record<string, readonly RawJson[]>>);
  if (draws !== undefined && draw !== undefined) return drawnPoints(draws, draw, seed, stream);
  return [new Map()];
}

/** The job's settings with those of an entry at one point of its search. @throws MucastError of the model and its arguments. */
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
    const faults = (error.data.faults ?? []).map((fault) => ({
      ...fault,
      path: sources.get(fault.path) ?? fault.path,
    }));
    throw errorOf(error, faults);
  }
}

/** One error with the faults of several, each once. */
function merged(errors: readonly MucastError[]): MucastError {
  const faults = new Map<string, Fault>();
  for (const { data } of errors) {
    for (const fault of data.faults ?? []) faults.set(`${fault.path}\n${fault.message}`, fault);
  }
  return errorOf(errors[0]!, [...faults.values()]);
}

function errorOf({ code, data }: MucastError, all: readonly Fault[]): MucastError {
  const { message, faults } = listedFaults(all);
  return new MucastError(code, message, { ...data, path: faults[0]?.path ?? data.path, faults });
}

function requireDifferent(all: readonly LabelledCandidate[]): void {
  const seen = new Map<string, number>();
  for (const [i, { settings, path, parts }] of all.entries()) {
    const key = identityOf(settings);
    const earlier = seen.get(key);
    if (earlier !== undefined) {
      const message = `${parts.join(" ")} is the same as candidate ${earlier}, which ${all[earlier]!.path} gives; remove one of them`;
      throw invalidRequest([{ path, message }]);
    }
    seen.set(key, i);
  }
}

/** A text that is equal for settings that give the same forecasts. */
function identityOf({ model, resolvedParams, scaler, fit, target, crossSection }: MlSettings): string {
  return canonicalJson({ model: model.name, resolvedParams, scaler, fit, target, crossSection });
}

/** The model and what an entry sets, such as `lightgbm pooled n_estimators=50`. */
function labelParts(
  entry: MlCandidate,
  point: SearchPoint,
  { model, fit, target, scaler, crossSection }: MlSettings,
): string[] {
  const varied = [...point].map(([name, value]) => `${name}=${valueText(value)}`);
  if (entry.label !== undefined) return [entry.label, ...varied];
  return [
    model.name,
    ...(entry.fit === undefined ? [] : [fit]),
    ...(entry.target === undefined ? [] : [target]),
    ...(entry.scaler === undefined ? [] : [scaler === "none" ? "unscaled" : scaler]),
    ...(entry.cross_section === undefined ? [] : [crossSection ? "cross_section" : "no cross_section"]),
    ...varied,
  ];
}

const MAX_LABEL = 80;

function valueText(value: RawJson): string {
  if (typeof value === "string") return value;
  return isRawNumber(value) ? value.rawJSON : JSON.stringify(value);
}

/** Labels that occur several times get the candidate's number. */
function uniquelyLabelled(all: readonly LabelledCandidate[]): Candidate[] {
  const labels = all.map(({ parts }) => parts.join(" ").slice(0, MAX_LABEL));
  const counts = Map.groupBy(labels, (label) => label);
  return all.map(({ settings }, i) => {
    const label = labels[i]!;
    return { label: counts.get(label)!.length > 1 ? `${label} (${i})` : label, settings };
  });
}

function distinct(warnings: readonly Warning[]): Warning[] {
  return [...new Map(warnings.map((warning) => [warning.message, warning])).values()];
}
