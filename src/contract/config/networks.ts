import { z } from "zod";
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
    .describe("4 x d_model by default."),
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

/**
 * Every network of run_dl_job, in the order of the docs: the schema of its entry in `models_params`, and whether one
 * network learns from all tickers (`joint`) instead of one from each.
 */
export const NETWORKS = {
  lstm: { entry: lstmSchema, joint: false },
  cnn: { entry: cnnSchema, joint: false },
  transformer: { entry: transformerSchema, joint: false },
  mlp: { entry: mlpSchema, joint: false },
  portfolio_lstm: { entry: lstmSchema, joint: true },
  portfolio_transformer: { entry: transformerSchema, joint: true },
} as const satisfies Record<string, { readonly entry: z.ZodObject; readonly joint: boolean }>;

export type Architecture = keyof typeof NETWORKS;
export const ARCHITECTURES = Object.keys(NETWORKS) as [Architecture, ...Architecture[]];

/** The names of the networks that learn from one ticker, or from all tickers. */
export function architecturesOf({ joint }: { readonly joint: boolean }): readonly Architecture[] {
  return ARCHITECTURES.filter((architecture) => NETWORKS[architecture].joint === joint);
}

type EntryOf<A extends Architecture> = z.infer<(typeof NETWORKS)[A]["entry"]>;
type Filled<E> = {
  readonly [K in keyof E]-?: E[K] extends readonly number[] ? readonly number[] : Exclude<E[K], undefined>;
};

/** A network with every default filled in, as the engine builds it. */
export type NetworkSpec = {
  [A in Architecture]: { readonly architecture: A } & Filled<EntryOf<A>>;
}[Architecture];

export const LOSS_TYPES = ["mse", "mae", "huber", "directional", "r2", "mahalanobis"] as const;
type LossType = (typeof LOSS_TYPES)[number];

export const OPTIMIZERS = ["adam", "sgd", "rmsprop"] as const;

/** What early stopping watches on the validation part. Ours. */
export const MONITORS = ["loss", "ic"] as const;
export type Monitor = (typeof MONITORS)[number];

/** `training_params` of run_dl_job's config, as the caller writes it. */
export const trainingParamsSchema = z.strictObject({
  epochs: z.int().min(1).max(LIMITS.epochs).default(20),
  learning_rate: z.number().gt(0).max(LIMITS.optimizerNumber).default(0.001),
  patience: z.int().min(1).max(LIMITS.patience).default(5),
  optimizer: z.enum(OPTIMIZERS).default("adam"),
  weight_decay: z
    .number()
    .min(0)
    .max(LIMITS.optimizerNumber)
    .default(0)
    .describe(
      "L2 penalty, as in PyTorch's optimisers. With any value above 0, portfolio_lstm starts with a quiet read-out (docs/networks.md).",
    ),
  grad_clip: z.number().min(0).default(1).describe("Maximum gradient norm; 0 disables clipping."),
  loss_type: z
    .unknown()
    .default("r2")
    .meta({ examples: [...LOSS_TYPES] })
    .describe(`One of ${LOSS_TYPES.join(", ")}; any other value means mse, with a warning.`),
  ensemble: z
    .int()
    .min(1)
    .max(LIMITS.ensemble)
    .default(1)
    .describe("Number of networks with different seeds; the forecast is their mean."),
  monitor: z
    .enum(MONITORS)
    .default("loss")
    .describe(
      "The validation metric that early stopping uses. ic: the mean correlation between forecasts and targets across the tickers of a date; portfolio_* only.",
    ),
});

/** How a network is trained, every default filled in; the engine reads each field. */
export type TrainingSpec = Readonly<
  Omit<z.infer<typeof trainingParamsSchema>, "loss_type" | "ensemble"> & {
    batch_size: number;
    loss: LossType;
  }
>;
