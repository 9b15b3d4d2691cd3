import { z } from "zod";
import { type Fault, fault, MucastError } from "../errors/errors.ts";
import { invalidRequest, valueAt } from "../errors/faults.ts";
import { isRawNumber, type RawJson, type RawObject, rawNumbers } from "../json/json-text.ts";
import type { ColumnDemand } from "../model-params/column-demands.ts";
import { findModel, MODEL_NAMES, MODELS, type Model } from "../model-params/models.ts";
import { type Estimator, type ResolvedModelParams, resolveModelParams } from "../model-params/resolve.ts";
import type { Warning } from "../problems/warnings.ts";
import { integer } from "../schema/open-schema.ts";
import { type Choice, readCandidates } from "./choice/candidates.ts";
import { mlChoiceSchema } from "./choice/choice-config.ts";
import { LIMITS } from "./limits.ts";
import {
  FITS,
  intervalsSchema,
  panelFields,
  SCALERS,
  type SharedSettings,
  sharedSettings,
  shrinkageSchema,
} from "./panel-settings.ts";
import { isObject, parseConfig } from "./parse-config.ts";

const testSize = integer(1, LIMITS.cvTestSize).optional();

/** `ML params` of run_ml_job's config, as the caller writes it. docs/config.md has a row for each field. */
export const mlParamsSchema = z
  .strictObject({
    model: z
      .string()
      .meta({ examples: MODELS.map(({ name }) => name) })
      .describe(`The regressor, in upper or lower case: ${MODEL_NAMES.join(", ")}.`),
    model_params: z
      .record(z.string(), z.unknown())
      .default({})
      .describe("Keyword arguments for the library's regressor; see docs/model-params.md."),
    ensemble: integer(1, LIMITS.ensemble)
      .default(1)
      .describe(
        "The mean of this many regressors that differ in their seeds: the seed of model_params, seed + 1 and so on. For random_forest, xgboost, lightgbm and catboost.",
      ),
    cv_test_size: testSize.describe("Rows per walk-forward test fold; 15 by default."),
    test_size: testSize.meta({ deprecated: true }).describe("Old name of cv_test_size."),
    n_splits: integer(1, LIMITS.nSplits).default(15).describe("Number of walk-forward folds."),
    intervals: intervalsSchema.optional(),
    scaler: z
      .enum(SCALERS)
      .default("none")
      .describe("Feature scaler, fitted only on the training rows of each fit."),
    shrinkage: shrinkageSchema,
    fit: z
      .enum(FITS)
      .default("per_ticker")
      .describe("per_ticker: one regressor per ticker. pooled: one regressor for the rows of all tickers."),
    ...panelFields,
    window: z
      .int()
      .min(LIMITS.leastWindow)
      .max(LIMITS.window)
      .optional()
      .describe(
        "Each fit learns only from its last `window` label dates. Without it, each fit learns from all.",
      ),
    choice: mlChoiceSchema.optional(),
    importance: z
      .boolean()
      .default(false)
      .describe(
        "Measures how much order the out-of-fold forecasts lose when a feature is shuffled. Not with choice.",
      ),
  })
  .refine(({ cv_test_size = 0, test_size = cv_test_size }) => [0, test_size].includes(cv_test_size), {
    path: ["test_size"],
    error: "test_size is the old name of cv_test_size and both are given with different values; keep one",
  })
  .refine(({ importance, choice }) => !importance || choice === undefined, {
    path: ["importance"],
    error:
      "importance measures the features of one model, and choice has several; remove choice, and run the candidate to examine by itself",
  });

/** Config of run_ml_job. Sections of other services next to `ML params` are ignored, with a warning. */
export const mlConfigSchema = z
  .looseObject({ "ML params": mlParamsSchema })
  .meta({ id: "MlConfig", title: "Config of run_ml_job" });

type MlParams = z.infer<typeof mlParamsSchema>;

/** A config of run_ml_job with every default filled in. */
export interface MlSettings extends SharedSettings {
  readonly model: Model;
  readonly estimator: Estimator;
  /** The constructor's arguments with every default filled in, as the output records them. */
  readonly resolvedParams: RawObject;
  readonly columnDemands: readonly ColumnDemand[];
  /** The number of regressors with different seeds whose mean is the forecast. */
  readonly ensemble: number;
  readonly cvTestSize: number;
  readonly nSplits: number;
  readonly scaler: MlParams["scaler"];
  readonly fit: MlParams["fit"];
  /** Whether the job measures what each group of features contributes to the order of its forecasts. Our addition. */
  readonly importance: boolean;
  readonly choice?: MlCandidates;
}

export interface MlCandidates extends Choice<MlSettings> {
  /** The number of further folds, before the `nSplits` folds, that only serve the choice. */
  readonly warmUp: number;
}

interface Parsed {
  readonly settings: MlSettings;
  readonly warnings: readonly Warning[];
}

const SECTION = "config.ML params";

/**
 * Reads the config of run_ml_job from its JSON text.
 * @throws MucastError invalid_request, unknown_model, invalid_model_params, device_unavailable or too_large.
 */
export function parseMlSettings(text: string): Parsed {
  return parseAt(text, SECTION);
}

/** @param at the path of the settings in faults about the model. */
function parseAt(text: string, at: string): Parsed {
  const { value, warnings } = parseConfig(text, mlConfigSchema, "run_ml_job", (_config, found) =>
    // If only the model is at fault, findModel and resolveModelParams throw their own codes.
    found.length === 0 ? [] : modelFaults(valueAt(rawNumbers(text), ["ML params"])),
  );
  const params = value["ML params"];
  // The schema's copy has lost the text of the numbers.
  const raw = valueAt(rawNumbers(text), ["ML params"]) as RawObject;
  const model = findModel(params.model, `${at}.model`);
  const resolved = resolveModelParams({
    model,
    rawParams: raw.model_params ?? {},
    path: `${at}.model_params`,
  });
  const settings: MlSettings = {
    model,
    estimator: withSeeds(resolved, params.ensemble, `${at}.ensemble`),
    resolvedParams: resolved.resolved,
    columnDemands: resolved.columnDemands,
    ensemble: params.ensemble,
    cvTestSize: params.cv_test_size ?? params.test_size ?? 15,
    nSplits: params.n_splits,
    scaler: params.scaler,
    fit: params.fit,
    ...sharedSettings(params),
    importance: params.importance,
  };
  const parsed = { settings, warnings: [...warnings, ...resolved.warnings] };
  return params.choice === undefined ? parsed : withChoice(parsed, params.choice, raw);
}

function withChoice(
  { settings: own, warnings }: Parsed,
  choice: NonNullable<MlParams["choice"]>,
  { choice: rawChoice, ...base }: RawObject,
): Parsed {
  const path = `${SECTION}.choice`;
  const found = readCandidates(choice, (rawChoice as RawObject).candidates as readonly RawObject[], {
    section: SECTION,
    own,
    nameOf: ({ model }) => model.name,
    resolve(sets, point, at) {
      const inherited = sets.model === undefined ? base.model_params : {};
      const model_params = {
        ...((sets.model_params ?? inherited) as RawObject),
        ...Object.fromEntries(point),
      };
      const { ensemble, ...rest } = base;
      const inheritedToo = sets.model === undefined && ensemble !== undefined ? { ensemble } : {};
      return parseAt(
        JSON.stringify({ "ML params": { ...rest, ...inheritedToo, ...sets, model_params } }),
        at,
      );
    },
    searchedIn: "model_params",
    valuesOf({ model_params = {}, ensemble }, { model }) {
      const inherited = model === own.model ? base.model_params : undefined;
      // As JavaScript writes the numbers, like the schema's copy.
      const before: unknown = JSON.parse(JSON.stringify(inherited ?? {}));
      const isNew = ([name, value]: [string, unknown]) =>
        JSON.stringify(value) !== JSON.stringify(valueAt(before, [name]));
      return {
        ...(ensemble && { ensemble }),
        ...Object.fromEntries(Object.entries(model_params).filter(isNew)),
      };
    },
    identity: ["model", "resolvedParams", "ensemble", "scaler", "fit", "target", "crossSection"],
  });
  const { warm_up: warmUp } = choice;
  const folds = warmUp + own.nSplits;
  const fits = found.choice.candidates.length * (folds + 1);
  if (fits > LIMITS.choiceFits) {
    const message = `needs ${fits} fits per ticker (${found.choice.candidates.length} candidates, ${folds} folds each); at most ${LIMITS.choiceFits} are accepted: try fewer candidates, or lower warm_up or n_splits`;
    throw invalidRequest([{ path, message }]);
  }
  return {
    settings: { ...own, choice: { ...found.choice, warmUp } },
    warnings: [...warnings, ...found.warnings],
  };
}

function modelFaults(params: unknown): readonly Fault[] {
  const [model, rawParams] = [valueAt(params, ["model"]), valueAt(params, ["model_params"])];
  if (typeof model !== "string") return [];
  try {
    resolveModelParams({
      model: findModel(model),
      rawParams: isObject(rawParams) && !isRawNumber(rawParams) ? rawParams : {},
    });
    return [];
  } catch (error) {
    if (error instanceof MucastError) return error.data.faults ?? [];
    throw error;
  }
}

/** @throws MucastError invalid_request for several regressors that would be the same. */
function withSeeds({ estimator }: ResolvedModelParams, ensemble: number, path: string): Estimator {
  if (ensemble === 1) return estimator;
  const { random_state: seed = estimator.params.random_seed } = estimator.params;
  const isSeeded = SEEDED.some((name) => findModel(name).className === estimator.class);
  if (isSeeded && isRawNumber(seed)) return { ...estimator, ensemble };
  const message = isSeeded
    ? "needs a number as the seed in model_params; set one, or leave the seed out for 42"
    : `must be 1, because this regressor has no seed; those with one are ${SEEDED.join(", ")}`;
  throw invalidRequest([fault(path, message)]);
}

/** The regressors that depend on their seed. */
const SEEDED = ["random_forest", "xgboost", "lightgbm", "catboost"] as const;

/** The regressor's seed; null if it has none. */
export function seedOf({ resolvedParams }: MlSettings): RawJson {
  return resolvedParams.random_state ?? resolvedParams.random_seed ?? null;
}
