import { z } from "zod";
import { type Fault, fault } from "../errors/errors.ts";
import { invalidRequest, joinPath, valueAt } from "../errors/faults.ts";
import { counted } from "../errors/wording.ts";
import * as s from "../schema/open-schema.ts";
import type { DlSettings } from "./dl-settings.ts";
import { LIMITS } from "./limits.ts";

const layerWidths = z.array(s.integer(1, LIMITS.layerWidth)).min(1).max(LIMITS.layers);
const dropout = (value: number) => z.number().min(0).lt(1).default(value);

/** An entry of `models_params` with every default filled in. */
type Filled<E extends z.ZodObject> = {
  readonly [K in keyof z.infer<E>]-?: z.infer<E>[K] extends readonly number[]
    ? readonly number[]
    : NonNullable<z.infer<E>[K]>;
};

/** The part of a network that turns a window into one vector; a linear read-out turns the vector into the forecast. */
interface Encoder<E extends z.ZodObject> {
  readonly entry: E;
  readonly widths: readonly string[];
  /** The number of learned parameters, and the length of its vector. @param features columns. @param lookback rows. */
  size(entry: Filled<E>, features: number, lookback: number): { parameters: number; width: number };
}

function encoder<E extends z.ZodObject>(made: Encoder<E>): Encoder<E> {
  return made;
}

function chain(sizes: readonly number[], layer: (from: number, to: number) => number): number {
  return sizes.slice(1).reduce((sum, size, i) => sum + layer(sizes[i]!, size), 0);
}

const linear = (from: number, to: number) => from * to + to;
const norm = (width: number) => 2 * width;

const LSTM = encoder({
  entry: z.strictObject({ hidden_dims: layerWidths.default([64, 32]), dropout: dropout(0.2) }),
  widths: ["hidden_dims"],
  // Counted like torch.nn.LSTM: four gates, each with two biases.
  size: ({ hidden_dims }, features) => ({
    parameters: chain([features, ...hidden_dims], (from, to) => 4 * to * (from + to + 2)),
    width: hidden_dims.at(-1)!,
  }),
});

const MLP = encoder({
  entry: z.strictObject({ hidden_dims: layerWidths.default([128, 64]), dropout: dropout(0.2) }),
  widths: ["hidden_dims", "lookback"],
  size: ({ hidden_dims }, features, lookback) => ({
    parameters: chain([lookback * features, ...hidden_dims], linear),
    width: hidden_dims.at(-1)!,
  }),
});

const CNN = encoder({
  entry: z.strictObject({
    filters: layerWidths.default([32, 64]),
    kernel_size: s.integer(1, LIMITS.kernelSize).default(3),
    pool_size: s.integer(1, LIMITS.kernelSize).default(2),
    dropout: dropout(0.2),
  }),
  widths: ["filters", "kernel_size"],
  // The vector: the outputs of the last filters, concatenated for each row after the pools.
  size: ({ filters, kernel_size, pool_size }, features, lookback) => ({
    parameters: chain([features, ...filters], (from, to) => linear(from * kernel_size, to)),
    width: filters.at(-1)! * Math.floor(lookback / pool_size ** filters.length),
  }),
});

const transformerSchema = z.strictObject({
  d_model: s.integer(1, LIMITS.layerWidth).default(64),
  nhead: s.integer(1, LIMITS.heads).default(4),
  num_layers: s.integer(1, LIMITS.layers).default(2),
  dim_feedforward: s.optional(s.integer(1, 4 * LIMITS.layerWidth), "4 x d_model by default."),
  dropout: dropout(0.1),
});
type Transformer = Filled<typeof transformerSchema>;

/** One layer: query, key, value and their output; the feed-forward part; a norm before each. */
function attention({ d_model, dim_feedforward }: Transformer): number {
  return (
    4 * linear(d_model, d_model) + chain([d_model, dim_feedforward, d_model], linear) + 2 * norm(d_model)
  );
}

const TRANSFORMER = encoder({
  entry: transformerSchema,
  widths: ["d_model", "dim_feedforward", "num_layers"],
  // Embedding, a position for each row, the layers, and the norm after them.
  size: (entry, features, lookback) => {
    const { d_model, num_layers } = entry;
    const layers = num_layers * attention(entry);
    return {
      parameters: linear(features, d_model) + lookback * d_model + layers + norm(d_model),
      width: d_model,
    };
  },
});

/**
 * Every network of run_dl_job, in the order of the docs: its encoder, whether one network learns from all tickers (`joint`) or one from
 * each, and how many parameters a joint one has in addition to the encoder and the read-out.
 */
export const NETWORKS = {
  lstm: { ...LSTM, joint: false },
  cnn: { ...CNN, joint: false },
  transformer: { ...TRANSFORMER, joint: false },
  mlp: { ...MLP, joint: false },
  portfolio_lstm: {
    ...LSTM,
    joint: true,
    // A layer on each ticker's vector and the mean of all.
    context: ({ hidden_dims }: Filled<typeof LSTM.entry>) =>
      linear(2 * hidden_dims.at(-1)!, hidden_dims.at(-1)!),
  },
  portfolio_transformer: {
    ...TRANSFORMER,
    joint: true,
    // One more attention layer, across tickers, and the norm after it.
    context: (entry: Transformer) => attention(entry) + norm(entry.d_model),
  },
} as const;

export type Architecture = keyof typeof NETWORKS;
export const ARCHITECTURES = Object.keys(NETWORKS) as [Architecture, ...Architecture[]];

export function architecturesOf({ joint }: { readonly joint: boolean }): readonly Architecture[] {
  return ARCHITECTURES.filter((architecture) => NETWORKS[architecture].joint === joint);
}

export type NetworkSpec = {
  [A in Architecture]: { readonly architecture: A } & Filled<(typeof NETWORKS)[A]["entry"]>;
}[Architecture];

export function networkOf(
  architecture: Architecture,
  entries: { readonly [A in Architecture]?: z.infer<(typeof NETWORKS)[A]["entry"]> | undefined },
): NetworkSpec {
  const { dim_feedforward, ...entry } = (entries[architecture] ??
    NETWORKS[architecture].entry.parse({})) as Partial<Transformer>;
  const { d_model } = entry;
  return {
    ...{ architecture, ...entry },
    ...(d_model !== undefined && { dim_feedforward: dim_feedforward ?? 4 * d_model }),
  } as NetworkSpec;
}

/** The number of parameters of the engine's network; test/cases/network-sizes.json keeps both counts equal. */
export function parameterCount(network: NetworkSpec, features: number, lookback: number): number {
  const row = NETWORKS[network.architecture];
  const { parameters, width } = row.size(network as never, features, lookback);
  const context = "context" in row ? row.context(network as never) : 0;
  return parameters + context + linear(width, 1);
}

export const LOSS_TYPES = ["mse", "mae", "huber", "directional", "r2", "mahalanobis"] as const;

export const OPTIMIZERS = ["adam", "sgd", "rmsprop"] as const;

export const trainingParamsSchema = z.strictObject({
  epochs: s.integer(1, LIMITS.epochs).default(20),
  learning_rate: z.number().gt(0).max(LIMITS.optimizerNumber).default(0.001),
  patience: s.integer(1, LIMITS.patience).default(5),
  optimizer: z.enum(OPTIMIZERS).default("adam"),
  weight_decay: s.byDefault(
    z.number().min(0).max(LIMITS.optimizerNumber),
    0,
    "L2 penalty, as in PyTorch's optimisers. With any value above 0, portfolio_lstm starts with a quiet read-out.",
  ),
  grad_clip: z.number().min(0).default(1).describe("Maximum gradient norm; 0 disables clipping."),
  loss_type: z
    .unknown()
    .default("r2")
    .meta({ examples: [...LOSS_TYPES] })
    .describe(`One of ${LOSS_TYPES.join(", ")}; any other value means mse, with a warning.`),
  ensemble: s.byDefault(
    s.integer(1, LIMITS.ensemble),
    1,
    "Number of networks with different seeds; the forecast is their mean.",
  ),
  monitor: s.byDefault(
    z.enum(["loss", "ic"]),
    "loss",
    "The validation metric that early stopping uses. ic: the mean correlation between forecasts and targets across the tickers of a date; portfolio_* only.",
  ),
});

export type TrainingSpec = Readonly<
  Omit<z.infer<typeof trainingParamsSchema>, "loss_type" | "ensemble"> & {
    batch_size: number;
    loss: (typeof LOSS_TYPES)[number];
  }
>;

export const lookbackSchema = s.byDefault(
  s.integer(1, LIMITS.lookback),
  10,
  "Number of rows in an input window.",
);

const SECTION = ["NN params", "Dot prediction"];

function faultAt(path: readonly string[], message: string): Fault {
  return fault(joinPath("config", [...SECTION, ...path]), message);
}

const poolingSchema = CNN.entry.pick({ filters: true, pool_size: true }).strip();
const headsSchema = transformerSchema.pick({ d_model: true, nhead: true }).strip();

/**
 * Faults of settings that are valid one by one but cannot form a network together. A field that is invalid by itself is skipped, because
 * the schema reports it. @param config as its author wrote it.
 */
export function networkFaults(config: unknown): Fault[] {
  const prediction = valueAt(config, SECTION);
  const architecture = ARCHITECTURES.find((name) => name === valueAt(prediction, ["current option"]));
  if (architecture === undefined) return [];
  const faults: Fault[] = [];
  const given = (path: readonly string[]) => valueAt(prediction, path);
  const byDefault = (path: readonly string[]) => (given(path) === undefined ? " (the default)" : "");
  const { joint, entry: schema } = NETWORKS[architecture];
  if (!joint && given(["training_params", "monitor"]) === "ic") {
    const able = architecturesOf({ joint: true }).join(" and ");
    const message = `must be loss for ${architecture}, which sees only one ticker, got ic; ${able} can use ic`;
    faults.push(faultAt(["training_params", "monitor"], message));
  }
  const entryPath = ["models_params", architecture];
  const entry = given(entryPath) ?? {};
  // Every head attends with d_model / nhead numbers.
  const heads = schema === transformerSchema ? headsSchema.safeParse(entry).data : undefined;
  if (heads !== undefined && heads.d_model % heads.nhead !== 0) {
    const { d_model, nhead } = heads;
    const all = Array.from({ length: LIMITS.heads }, (_, i) => i + 1);
    const message =
      `must divide d_model, got ${nhead}${byDefault([...entryPath, "nhead"])} for d_model ` +
      `${d_model}${byDefault([...entryPath, "d_model"])}; these do: ${all.filter((n) => d_model % n === 0).join(", ")}`;
    faults.push(faultAt([...entryPath, "nhead"], message));
  }
  // Each block divides the window's length by pool_size, rounded down; the last one must have a row.
  const lookbackPath = ["data_processing", "lookback"];
  const lookback = lookbackSchema.safeParse(given(lookbackPath)).data;
  const pooling = schema === CNN.entry ? poolingSchema.safeParse(entry).data : undefined;
  if (pooling === undefined || lookback === undefined) return faults;
  const { filters, pool_size } = pooling;
  const least = pool_size ** filters.length;
  if (lookback < least) {
    const block = 1 + Math.floor(Math.log(lookback) / Math.log(pool_size) + 1e-9);
    const rows = counted(Math.floor(lookback / pool_size ** (block - 1)), "row");
    const shrink = `give fewer filters than ${filters.length} or a smaller pool_size than ${pool_size}`;
    const cure = least <= LIMITS.lookback ? `the least that works is ${least}; or ${shrink}` : shrink;
    const message =
      `is too short for the pooling of the cnn, got ${lookback}${byDefault(lookbackPath)}: ` +
      `block ${block} of ${filters.length} would pool ${rows} by ${pool_size}; ${cure}`;
    faults.push(faultAt(lookbackPath, message));
  }
  return faults;
}

/** A joint network processes its batch in pieces of whole dates: at most this many windows, or a single date if that has more. */
const WINDOWS_OF_A_PIECE = 2_048;

/**
 * Refuses a network that exceeds the limits of docs/config.md, with `invalid_request`.
 * @param features columns of its input; for a joint network the union of the tickers'. @param tickers in one sample.
 */
export function checkNetworkSize(
  { network, training, lookback, joint }: Pick<DlSettings, "network" | "training" | "lookback" | "joint">,
  features: number,
  tickers = 1,
): void {
  const faults: Fault[] = [];
  const grouped = (count: number) => count.toLocaleString("en-US");
  const count = parameterCount(network, features, lookback);
  if (count > LIMITS.networkParameters) {
    const values = { ...network, lookback };
    const widths = NETWORKS[network.architecture].widths.map(
      (name) => `${name} ${JSON.stringify(values[name as keyof typeof values])}`,
    );
    const either = [widths.slice(0, -1).join(", "), widths.at(-1)].filter((part) => part !== "").join(" or ");
    const message =
      `makes a network of ${grouped(count)} parameters with ${counted(features, "feature")}; ` +
      `at most ${grouped(LIMITS.networkParameters)} are accepted: lower ${either}`;
    faults.push(faultAt(["models_params", network.architecture], message));
  }
  const { batch_size: batchSize } = training;
  const windows = joint ? Math.min(batchSize * tickers, Math.max(WINDOWS_OF_A_PIECE, tickers)) : batchSize;
  const values = windows * lookback * features;
  if (values > LIMITS.batchElements) {
    const of = `lookback ${lookback} x ${counted(features, "feature")}`;
    const message =
      `makes batches of ${grouped(values)} numbers (${grouped(windows)} windows x ${of}); ` +
      `at most ${grouped(LIMITS.batchElements)} are accepted: lower batch_size or lookback`;
    faults.push(faultAt(["data_processing", "batch_size"], message));
  }
  if (faults.length > 0) throw invalidRequest(faults);
}
