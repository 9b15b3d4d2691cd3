import { type Fault, MucastError } from "../errors/errors.ts";
import { isRawNumber, rawNumbers } from "../json/json-text.ts";
import type { ColumnDemand } from "../model-params/column-demands.ts";
import { findModel, type Model } from "../model-params/models.ts";
import { type Estimator, type RawJson, type RawObject, resolveModelParams } from "../model-params/resolve.ts";
import type { Warning } from "../problems/warnings.ts";
import { type MlCandidates, resolveMlChoice } from "./choice/ml-candidates.ts";
import { type Intervals, intervalsAskedFor, type ScalerName } from "./intervals.ts";
import { DEFAULT_CV_TEST_SIZE, mlConfigSchema } from "./ml-config.ts";
import type { FitKind, PanelSettings, ShrinkageChoice } from "./panel-settings.ts";
import { type NoField, parseConfig, SECTION_KEYS } from "./parse-config.ts";
import { type RefitSettings, refitSettings } from "./refit-settings.ts";

/** A config of run_ml_job with every default filled in. */
export interface MlSettings extends PanelSettings, RefitSettings {
  readonly model: Model;
  /** The regressor that the engine constructs. */
  readonly estimator: Estimator;
  /** The constructor's arguments with every default filled in, as the output records them. */
  readonly resolvedParams: RawObject;
  /** The arguments' demands on the columns of every fit. */
  readonly columnDemands: readonly ColumnDemand[];
  readonly cvTestSize: number;
  readonly nSplits: number;
  /** Absent if the job makes no intervals. */
  readonly intervals?: Intervals;
  readonly scaler: ScalerName;
  readonly shrinkage: ShrinkageChoice;
  readonly fit: FitKind;
  /** Whether the job measures what each group of features contributes to the order of its forecasts. Our addition. */
  readonly importance: boolean;
  /** Absent if the job tries no other candidates. */
  readonly choice?: MlCandidates;
}

/**
 * Reads the config of run_ml_job from its JSON text.
 * @throws MucastError invalid_request, unknown_model, invalid_model_params, device_unavailable or too_large.
 */
export function parseMlSettings(text: string): { settings: MlSettings; warnings: readonly Warning[] } {
  const { value, warnings } = parseConfig(text, mlConfigSchema, SECTION_KEYS.run_ml_job, (_config, found) =>
    // If only the model is at fault, findModel and resolveModelParams throw their own codes.
    found.length === 0 ? [] : modelFaults(rawNumbers(text)),
  );
  const { model: name, model_params: _, ...params } = value["ML params"];
  const {
    cv_test_size,
    test_size,
    n_splits,
    intervals,
    scaler,
    shrinkage,
    fit,
    delay,
    target,
    cross_section,
    refit_every,
    window,
    choice: givenChoice,
    importance,
    ...rest
  } = params;
  rest satisfies NoField;
  const model = findModel(name);
  const raw = ownParams(rawNumbers(text));
  const rawParams = (raw.model_params ?? {}) as RawObject;
  const resolved = resolveModelParams({ model, rawParams });
  const settings: MlSettings = {
    model,
    estimator: resolved.estimator,
    resolvedParams: resolved.resolved,
    columnDemands: resolved.columnDemands,
    cvTestSize: cv_test_size ?? test_size ?? DEFAULT_CV_TEST_SIZE,
    nSplits: n_splits,
    ...intervalsAskedFor(intervals),
    scaler,
    shrinkage,
    fit,
    delay,
    target,
    crossSection: cross_section,
    ...refitSettings(refit_every, window),
    importance,
  };
  const own = [...warnings, ...resolved.warnings];
  if (givenChoice === undefined) return { settings, warnings: own };
  const found = resolveMlChoice(givenChoice, raw.choice, { settings, rawParams });
  return { settings: { ...settings, choice: found.choice }, warnings: [...own, ...found.warnings] };
}

/** The faults of the model and its parameters in a config that has other faults too. */
function modelFaults(config: unknown): readonly Fault[] {
  const params = isObject(config) ? config["ML params"] : undefined;
  if (!isObject(params) || typeof params.model !== "string") return [];
  const { model, model_params } = params;
  try {
    resolveModelParams({ model: findModel(model), rawParams: isObject(model_params) ? model_params : {} });
    return [];
  } catch (error) {
    if (error instanceof MucastError) return error.data.faults ?? [];
    throw error;
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !isRawNumber(value);
}

/** The regressor's seed; null if it has none. */
export function seedOf({ resolvedParams }: MlSettings): RawJson {
  return resolvedParams.random_state ?? resolvedParams.random_seed ?? null;
}

/** `ML params` in the tree of a checked config; the schema's copy has lost the text of the numbers. */
function ownParams(config: unknown): RawObject {
  return (config as Record<string, RawObject>)["ML params"]!;
}
