import { z } from "zod";
import { type Fault, fault, MucastError } from "../errors/errors.ts";
import { invalidRequest, valueAt } from "../errors/faults.ts";
import { isRawNumber, type RawJson, type RawObject, rawNumbers } from "../json/json-text.ts";
import { findModel, MODEL_NAMES, MODELS, type Model } from "../model-params/models.ts";
import { type Estimator, resolveModelParams } from "../model-params/resolve.ts";
import type { ColumnDemand } from "../model-params/value-rules.ts";
import type { Warning } from "../problems/warnings.ts";
import * as s from "../schema/open-schema.ts";
import { type Choice, readCandidates } from "./candidates.ts";
import { mlChoiceSchema } from "./choice-config.ts";
import { LIMITS } from "./limits.ts";
import { FITS, intervalsSchema, panelFields, SCALERS, shrinkageSchema } from "./panel-settings.ts";
import { isObject, parseConfig } from "./parse-config.ts";

const testSize = s.integer(1, LIMITS.cvTestSize).optional();

/** `ML params` of run_ml_job's config, as the caller writes it. docs/config.md has a row for each field. */
export const mlParamsSchema = z
  .strictObject({
    model: z
      .string()
      .meta({ examples: MODELS.map(({ name }) => name) })
      .describe(`The regressor, in upper or lower case: ${MODEL_NAMES.join(", ")}.`),
    model_params: s.byDefault(
      z.record(z.string(), z.unknown()),
      {},
      "Keyword arguments for the library's regressor; see docs/model-params.md.",
    ),
    ensemble: s.byDefault(
      s.integer(1, LIMITS.ensemble),
      1,
      "The mean of this many regressors that differ in their seeds: the seed of model_params, seed + 1 and so on. For random_forest, xgboost, lightgbm and catboost.",
    ),
    cv_test_size: testSize.describe("Rows per walk-forward test fold; 15 by default."),
    test_size: testSize.meta({ deprecated: true }).describe("Old name of cv_test_size."),
    n_splits: s.byDefault(s.integer(1, LIMITS.nSplits), 15, "Number of walk-forward folds."),
    intervals: intervalsSchema.optional(),
    scaler: s.byDefault(
      z.enum(SCALERS),
      "none",
      "Feature scaler, fitted only on the training rows of each fit.",
    ),
    shrinkage: shrinkageSchema,
    fit: s.byDefault(
      z.enum(FITS),
      "per_ticker",
      "per_ticker: one regressor per ticker. pooled: one regressor for the rows of all tickers.",
    ),
    ...panelFields,
    window: s.optional(
      z.int().min(LIMITS.leastWindow).max(LIMITS.window),
      "Each fit learns only from its last `window` label dates. Without it, each fit learns from all.",
    ),
    choice: mlChoiceSchema.optional(),
    importance: s.byDefault(
      z.boolean(),
      false,
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
  })
  .transform(({ test_size = 15, cv_test_size = test_size, ...params }) => ({ ...params, cv_test_size }));

/** Config of run_ml_job. Sections of other services next to `ML params` are ignored, with a warning. */
export const mlConfigSchema = z
  .looseObject({ "ML params": mlParamsSchema })
  .meta({ id: "MlConfig", title: "Config of run_ml_job" });

type MlParams = z.infer<typeof mlParamsSchema>;

/** A config of run_ml_job, and what its model comes to. */
export interface MlSettings extends Readonly<Omit<MlParams, "model" | "choice">> {
  readonly model: Model;
  /** The constructor's arguments with every default filled in, as the output records them. */
  readonly model_params: RawObject;
  readonly estimator: Estimator;
  readonly columnDemands: readonly ColumnDemand[];
  readonly choice?: MlCandidates;
}

export interface MlCandidates extends Choice<MlSettings> {
  /** The number of further folds, before the `n_splits` folds, that only serve the choice. */
  readonly warm_up: number;
}

interface Parsed {
  readonly settings: MlSettings;
  readonly warnings: readonly Warning[];
}

const SECTION = "config.ML params";

/**
 * Reads the config of run_ml_job from its JSON text.
 * @param at the path of the settings in faults about the model.
 * @throws MucastError invalid_request, unknown_model, invalid_model_params, device_unavailable or too_large.
 */
export function parseMlSettings(text: string, at = SECTION): Parsed {
  const { value, warnings } = parseConfig(text, mlConfigSchema, "run_ml_job", (_config, found) =>
    // If only the model is at fault, findModel and resolveModelParams throw their own codes.
    found.length === 0 ? [] : modelFaults(valueAt(rawNumbers(text), ["ML params"])),
  );
  const { choice, ...params } = value["ML params"];
  // The schema's copy has lost the text of the numbers.
  const raw = valueAt(rawNumbers(text), ["ML params"]) as RawObject;
  const model = findModel(params.model, `${at}.model`);
  const rawParams = raw.model_params ?? {};
  const { resolved, ...read } = resolveModelParams({ model, rawParams, path: `${at}.model_params` });
  const { columnDemands } = read;
  const estimator = withSeeds(read.estimator, params.ensemble, `${at}.ensemble`);
  const settings: MlSettings = { ...params, model, model_params: resolved, estimator, columnDemands };
  const parsed = { settings, warnings: [...warnings, ...read.warnings] };
  return choice === undefined ? parsed : withChoice(parsed, choice, raw);
}

function withChoice(
  { settings: own, warnings }: Parsed,
  choice: NonNullable<MlParams["choice"]>,
  { choice: rawChoice, ...base }: RawObject,
): Parsed {
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
      const seeds = sets.model === undefined && ensemble !== undefined ? { ensemble } : {};
      return parseMlSettings(
        JSON.stringify({ "ML params": { ...rest, ...seeds, ...sets, model_params } }),
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
    identity: ["model", "model_params", "ensemble", "scaler", "fit", "target", "cross_section"],
  });
  const { candidates } = found.choice;
  const folds = choice.warm_up + own.n_splits;
  const models = candidates.reduce((sum, { settings: { ensemble } }) => sum + ensemble, 0);
  const fits = models * (folds + 1);
  if (fits > LIMITS.choiceFits) {
    const message = `needs ${fits} fits per ticker (${candidates.length} candidates${models > candidates.length ? ` of ${models} regressors` : ""}, ${folds} folds each); at most ${LIMITS.choiceFits} are accepted: try fewer candidates, or lower ${models > candidates.length ? "ensemble, " : ""}warm_up or n_splits`;
    throw invalidRequest([{ path: `${SECTION}.choice`, message }]);
  }
  return {
    settings: { ...own, choice: { ...choice, candidates } },
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
function withSeeds(estimator: Estimator, ensemble: number, path: string): Estimator {
  if (ensemble === 1) return estimator;
  const { random_state: seed = estimator.params.random_seed } = estimator.params;
  const isSeeded = SEEDED.some((name) => findModel(name).className === estimator.class);
  const last = isRawNumber(seed) ? Number(seed.rawJSON) + ensemble - 1 : undefined;
  const isTooLarge = estimator.library === "sklearn" && last !== undefined && last >= 2 ** 32;
  if (isTooLarge) throw invalidRequest([fault(path, `makes the last seed ${last}, above ${2 ** 32 - 1}`)]);
  if (isSeeded && last !== undefined) return { ...estimator, ensemble };
  const message = isSeeded
    ? "needs a number as the seed in model_params; set one, or leave the seed out for 42"
    : `must be 1, because this regressor has no seed; those with one are ${SEEDED.join(", ")}`;
  throw invalidRequest([fault(path, message)]);
}

const SEEDED = ["random_forest", "xgboost", "lightgbm", "catboost"] as const;

/** The regressor's seed; null if it has none. */
export function seedOf({ model_params }: MlSettings): RawJson {
  return model_params.random_state ?? model_params.random_seed ?? null;
}
