import { z } from "zod";
import { dlChoiceSchema } from "./choice/choice-config.ts";
import { intervalsSchema, SCALERS } from "./intervals.ts";
import { LIMITS } from "./limits.ts";
import {
  ARCHITECTURES,
  type Architecture,
  architecturesOf,
  NETWORKS,
  trainingParamsSchema,
} from "./networks/networks.ts";
import { crossSectionSchema, delaySchema, shrinkageSchema, targetSchema } from "./panel-settings.ts";
import { networkWindowSchema, refitEverySchema } from "./refit-settings.ts";

type Entries = { [A in Architecture]: z.ZodOptional<(typeof NETWORKS)[A]["entry"]> };

const entries = Object.fromEntries(
  ARCHITECTURES.map((architecture) => [architecture, NETWORKS[architecture].entry.optional()]),
) as Entries;

const modelsParamsSchema = z
  .strictObject(entries)
  .describe("Hyperparameters by architecture; only the entry of `current option` is used.");

const DEVICE = /^(auto|cpu|cuda(:\d{1,3})?)$/;

export const lookbackSchema = z
  .int()
  .min(1)
  .max(LIMITS.lookback)
  .default(10)
  .describe("Number of rows in an input window.");

export const dataProcessingSchema = z.strictObject({
  scaler: z.enum(SCALERS).exclude(["none"]).default("robust"),
  lookback: lookbackSchema,
  batch_size: z.int().min(1).max(LIMITS.batchSize).default(64),
});

/** `Dot prediction` of run_dl_job's config, as the caller writes it. docs/config.md has a row for each field. */
export const dotPredictionSchema = z.strictObject({
  status: z.boolean().default(true).describe("If false, the job succeeds without training."),
  "current option": z
    .enum(ARCHITECTURES)
    .describe(
      `${architecturesOf({ joint: false }).join(", ")}: one network per ticker; portfolio_*: one network for all tickers.`,
    ),
  global_settings: z
    .strictObject({
      device: z
        .string()
        .regex(DEVICE, "must be auto, cpu, cuda or cuda:N")
        .default("auto")
        .describe("auto, cpu, cuda or cuda:N."),
      seed: z.int().min(0).max(Number.MAX_SAFE_INTEGER).default(42),
    })
    .prefault({}),
  data_processing: dataProcessingSchema.prefault({}),
  training_params: trainingParamsSchema.prefault({}),
  models_params: modelsParamsSchema.prefault({}),
  intervals: intervalsSchema.optional(),
  shrinkage: shrinkageSchema,
  delay: delaySchema,
  target: targetSchema,
  cross_section: crossSectionSchema,
  refit_every: refitEverySchema,
  window: networkWindowSchema,
  choice: dlChoiceSchema.optional(),
});

/** Config of run_dl_job. Sections of other services next to `Dot prediction` are ignored, with a warning. */
export const dlConfigSchema = z
  .looseObject({ "NN params": z.looseObject({ "Dot prediction": dotPredictionSchema }) })
  .meta({ id: "DlConfig", title: "Config of run_dl_job" });
