import { z } from "zod";
import { MODEL_NAMES, MODELS } from "../model-params/models.ts";
import { mlChoiceSchema } from "./choice/choice-config.ts";
import { intervalsSchema, SCALERS } from "./intervals.ts";
import { LIMITS } from "./limits.ts";
import { crossSectionSchema, delaySchema, FITS, shrinkageSchema, targetSchema } from "./panel-settings.ts";
import { refitEverySchema, windowSchema } from "./refit-settings.ts";

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
    cv_test_size: z
      .int()
      .min(1)
      .max(LIMITS.cvTestSize)
      .optional()
      .describe("Rows per walk-forward test fold; 15 by default."),
    test_size: z
      .int()
      .min(1)
      .max(LIMITS.cvTestSize)
      .optional()
      .meta({ deprecated: true })
      .describe("Old name of cv_test_size."),
    n_splits: z.int().min(1).max(LIMITS.nSplits).default(15).describe("Number of walk-forward folds."),
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
    delay: delaySchema,
    target: targetSchema,
    cross_section: crossSectionSchema,
    refit_every: refitEverySchema,
    window: windowSchema,
    choice: mlChoiceSchema.optional(),
    importance: z
      .boolean()
      .default(false)
      .describe(
        "Measures how much order the out-of-fold forecasts lose when a feature is shuffled. Not with choice.",
      ),
  })
  .refine((params) => !conflicting(params), {
    path: ["test_size"],
    error: "test_size is the old name of cv_test_size and both are given with different values; keep one",
  })
  .refine(({ importance, choice }) => !importance || choice === undefined, {
    path: ["importance"],
    error:
      "importance measures the features of one model, and choice has several; remove choice, and run the candidate to examine by itself",
  });

function conflicting(params: { cv_test_size?: number | undefined; test_size?: number | undefined }): boolean {
  const { cv_test_size, test_size } = params;
  return cv_test_size !== undefined && test_size !== undefined && cv_test_size !== test_size;
}

/** Config of run_ml_job. Sections of other services next to `ML params` are ignored, with a warning. */
export const mlConfigSchema = z
  .looseObject({ "ML params": mlParamsSchema })
  .meta({ id: "MlConfig", title: "Config of run_ml_job" });

export const DEFAULT_CV_TEST_SIZE = 15;
