import { z } from "zod";
import { intervalsSchema, SCALERS } from "./intervals.ts";
import { LIMITS } from "./limits.ts";

const layerWidths = z.array(z.int().min(1).max(LIMITS.layerWidth)).min(1).max(LIMITS.layers);
const dropout = (value: number) => z.number().min(0).lt(1).default(value);

export const lstmSchema = z.strictObject({
  hidden_dims: layerWidths.default([64, 32]),
  dropout: dropout(0.2),
});

export const transformerSchema = z.strictObject({
  d_model: z.int().min(1).max(LIMITS.layerWidth).default(64),
  nhead: z.int().min(1).max(LIMITS.heads).default(4),
  num_layers: z.int().min(1).max(LIMITS.layers).default(2),
  dim_feedforward: z
    .int()
    .min(1)
    .max(4 * LIMITS.layerWidth)
    .optional()
    .describe("4 x d_model where it is missing."),
  dropout: dropout(0.1),
});

export const cnnSchema = z.strictObject({
  filters: layerWidths.default([32, 64]),
  kernel_size: z.int().min(1).max(LIMITS.kernelSize).default(3),
  pool_size: z.int().min(1).max(LIMITS.kernelSize).default(2),
  dropout: dropout(0.2),
});

export const mlpSchema = z.strictObject({
  hidden_dims: layerWidths.default([128, 64]),
  dropout: dropout(0.2),
});

export const ARCHITECTURES = [
  "lstm",
  "cnn",
  "transformer",
  "mlp",
  "portfolio_lstm",
  "portfolio_transformer",
] as const;

export const LOSS_TYPES = ["mse", "mae", "huber", "directional", "r2", "mahalanobis"] as const;

const modelsParamsSchema = z
  .strictObject({
    lstm: lstmSchema.optional(),
    cnn: cnnSchema.optional(),
    transformer: transformerSchema.optional(),
    mlp: mlpSchema.optional(),
    portfolio_lstm: lstmSchema.optional(),
    portfolio_transformer: transformerSchema.optional(),
  })
  .describe("Hyperparameters by architecture; only the entry of `current option` is used.");

const DEVICE = /^(auto|cpu|cuda(:\d{1,3})?)$/;

export const lookbackSchema = z
  .int()
  .min(1)
  .max(LIMITS.lookback)
  .default(10)
  .describe("Rows of one input window.");

/** `Dot prediction` of run_dl_job's config, as the caller writes it. */
export const dotPredictionSchema = z.strictObject({
  status: z.boolean().default(true).describe("false: the job succeeds without training."),
  "current option": z
    .enum(ARCHITECTURES)
    .describe("lstm, cnn, transformer, mlp: one network a ticker; portfolio_*: one network for all tickers."),
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
  data_processing: z
    .strictObject({
      scaler: z.enum(SCALERS).exclude(["none"]).default("robust"),
      lookback: lookbackSchema,
      batch_size: z.int().min(1).max(LIMITS.batchSize).default(64),
    })
    .prefault({}),
  training_params: z
    .strictObject({
      epochs: z.int().min(1).max(LIMITS.epochs).default(20),
      learning_rate: z.number().gt(0).max(LIMITS.optimizerNumber).default(0.001),
      patience: z.int().min(1).max(LIMITS.patience).default(5),
      optimizer: z.enum(["adam", "sgd", "rmsprop"]).default("adam"),
      weight_decay: z.number().min(0).max(LIMITS.optimizerNumber).default(0),
      grad_clip: z.number().min(0).default(1).describe("Largest gradient norm; 0 switches clipping off."),
      loss_type: z
        .unknown()
        .default("r2")
        .describe(`One of ${LOSS_TYPES.join(", ")}; anything else is mse, with a warning.`),
    })
    .prefault({}),
  models_params: modelsParamsSchema.prefault({}),
  intervals: intervalsSchema.optional(),
});

/** Config of run_dl_job. Sections of other services may stand beside `Dot prediction`, with a warning. */
export const dlConfigSchema = z
  .looseObject({ "NN params": z.looseObject({ "Dot prediction": dotPredictionSchema }) })
  .meta({ id: "DlConfig", title: "Config of run_dl_job" });

export type DotPrediction = z.infer<typeof dotPredictionSchema>;
