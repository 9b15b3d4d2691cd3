import { z } from "zod";
import { LIMITS } from "../limits.ts";
import {
  attentionContext,
  CNN,
  type Filled,
  LSTM,
  linear,
  MLP,
  meanContext,
  TRANSFORMER,
} from "./network-encoders.ts";

/**
 * Every network of run_dl_job, in the order of the docs: its encoder, whether one network learns from all tickers (`joint`) or one from
 * each, and how many parameters a joint one has in addition to the encoder and the read-out.
 */
export const NETWORKS = {
  lstm: { ...LSTM, joint: false },
  cnn: { ...CNN, joint: false },
  transformer: { ...TRANSFORMER, joint: false },
  mlp: { ...MLP, joint: false },
  portfolio_lstm: { ...LSTM, joint: true, context: meanContext },
  portfolio_transformer: { ...TRANSFORMER, joint: true, context: attentionContext },
} as const;

export type Architecture = keyof typeof NETWORKS;
export const ARCHITECTURES = Object.keys(NETWORKS) as [Architecture, ...Architecture[]];

/** The names of the networks that learn from one ticker, or from all tickers. */
export function architecturesOf({ joint }: { readonly joint: boolean }): readonly Architecture[] {
  return ARCHITECTURES.filter((architecture) => NETWORKS[architecture].joint === joint);
}

/** A network with every default filled in, as the engine builds it. */
export type NetworkSpec = {
  [A in Architecture]: { readonly architecture: A } & Filled<(typeof NETWORKS)[A]["entry"]>;
}[Architecture];

/** The network of that architecture, from its entry of `models_params` or that entry's defaults. */
export function networkOf(
  architecture: Architecture,
  entries: { readonly [A in Architecture]?: z.infer<(typeof NETWORKS)[A]["entry"]> | undefined },
): NetworkSpec {
  const { entry, fill } = NETWORKS[architecture];
  const given = entries[architecture] ?? entry.parse({});
  return { architecture, ...(fill?.(given as never) ?? given) } as NetworkSpec;
}

/**
 * The number of parameters of the engine's network; test/cases/network-sizes.json keeps both counts equal.
 * @param features columns of its input.
 * @param lookback rows of its window.
 */
export function parameterCount(network: NetworkSpec, features: number, lookback: number): number {
  const row = NETWORKS[network.architecture];
  const { parameters, width } = row.size(network as never, features, lookback);
  const context = "context" in row ? row.context(network as never) : 0;
  return parameters + context + linear(width, 1);
}

export const LOSS_TYPES = ["mse", "mae", "huber", "directional", "r2", "mahalanobis"] as const;
type LossType = (typeof LOSS_TYPES)[number];

export const OPTIMIZERS = ["adam", "sgd", "rmsprop"] as const;

/** What early stopping monitors on the validation part. Our addition. */
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

/** How to train a network, with every default filled in; the engine reads each field. */
export type TrainingSpec = Readonly<
  Omit<z.infer<typeof trainingParamsSchema>, "loss_type" | "ensemble"> & {
    batch_size: number;
    loss: LossType;
  }
>;
