import { z } from "zod";
import type { Fault } from "../../errors/errors.ts";
import { joinPath } from "../../errors/faults.ts";
import { LIMITS } from "../limits.ts";

const layerWidths = z.array(z.int().min(1).max(LIMITS.layerWidth)).min(1).max(LIMITS.layers);
const dropout = (value: number) => z.number().min(0).lt(1).default(value);

/** An entry of `models_params` with every default filled in. */
export type Filled<E extends z.ZodObject> = {
  readonly [K in keyof z.infer<E>]-?: z.infer<E>[K] extends readonly number[]
    ? readonly number[]
    : Exclude<z.infer<E>[K], undefined>;
};

export interface Lookback {
  readonly rows: number;
  readonly isDefault: boolean;
}

/** The part of a network that turns a window into one vector; a linear read-out turns the vector into the forecast. */
interface Encoder<E extends z.ZodObject> {
  /** The schema of its entry in `models_params`. */
  readonly entry: E;
  /** Fills in the defaults that depend on other settings. */
  fill?(entry: z.infer<E>): Filled<E>;
  /**
   * The number of learned parameters, and the length of its vector.
   * @param features columns of the input.
   * @param lookback rows of a window.
   */
  size(
    entry: Filled<E>,
    features: number,
    lookback: number,
  ): { readonly parameters: number; readonly width: number };
  /** The settings that decide its size, with their values. */
  widths(entry: Filled<E>, lookback: number): string;
  /**
   * Faults of settings that are valid one by one but cannot form a network together.
   * @param entry as its author wrote it.
   * @param lookback undefined if it is invalid by itself.
   */
  faults?(architecture: string, entry: unknown, lookback: Lookback | undefined): Fault[];
}

function encoder<E extends z.ZodObject>(made: Encoder<E>): Encoder<E> {
  return made;
}

export const LSTM = encoder({
  entry: z.strictObject({ hidden_dims: layerWidths.default([64, 32]), dropout: dropout(0.2) }),
  // Counted like torch.nn.LSTM: four gates, each with two biases.
  size: ({ hidden_dims }, features) => ({
    parameters: chain([features, ...hidden_dims], (from, to) => 4 * to * (from + to + 2)),
    width: hidden_dims.at(-1)!,
  }),
  widths: ({ hidden_dims }) => `hidden_dims ${JSON.stringify(hidden_dims)}`,
});

export const MLP = encoder({
  entry: z.strictObject({ hidden_dims: layerWidths.default([128, 64]), dropout: dropout(0.2) }),
  size: ({ hidden_dims }, features, lookback) => ({
    parameters: chain([lookback * features, ...hidden_dims], linear),
    width: hidden_dims.at(-1)!,
  }),
  widths: ({ hidden_dims }, lookback) => `hidden_dims ${JSON.stringify(hidden_dims)} or lookback ${lookback}`,
});

const cnnSchema = z.strictObject({
  filters: layerWidths.default([32, 64]),
  kernel_size: z.int().min(1).max(LIMITS.kernelSize).default(3),
  pool_size: z.int().min(1).max(LIMITS.kernelSize).default(2),
  dropout: dropout(0.2),
});
const poolingSchema = cnnSchema.pick({ filters: true, pool_size: true }).strip();

export const CNN = encoder({
  entry: cnnSchema,
  // The vector: the outputs of the last filters, concatenated for each row after the pools.
  size: ({ filters, kernel_size, pool_size }, features, lookback) => ({
    parameters: chain([features, ...filters], (from, to) => linear(from * kernel_size, to)),
    width: filters.at(-1)! * Math.floor(lookback / pool_size ** filters.length),
  }),
  widths: ({ filters, kernel_size }) => `filters ${JSON.stringify(filters)} or kernel_size ${kernel_size}`,
  faults: poolingFaults,
});

const transformerSchema = z.strictObject({
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
const headsSchema = transformerSchema.pick({ d_model: true, nhead: true }).strip();
type Transformer = Filled<typeof transformerSchema>;

export const TRANSFORMER = encoder({
  entry: transformerSchema,
  fill: ({ dim_feedforward, ...entry }) => ({
    ...entry,
    dim_feedforward: dim_feedforward ?? 4 * entry.d_model,
  }),
  // Embedding, a position for each row, the layers, and the norm after them.
  size: (entry, features, lookback) => {
    const { d_model, num_layers } = entry;
    const layers = num_layers * attention(entry);
    return {
      parameters: linear(features, d_model) + lookback * d_model + layers + norm(d_model),
      width: d_model,
    };
  },
  widths: ({ d_model, dim_feedforward, num_layers }) =>
    `d_model ${d_model}, dim_feedforward ${dim_feedforward} or num_layers ${num_layers}`,
  faults: headFaults,
});

/** Sum of `layer` from each width to the next. */
function chain(sizes: readonly number[], layer: (from: number, to: number) => number): number {
  return sizes.slice(1).reduce((sum, size, i) => sum + layer(sizes[i]!, size), 0);
}

export function linear(from: number, to: number): number {
  return from * to + to;
}

function norm(width: number): number {
  return 2 * width;
}

/** One layer: query, key, value and their output; the feed-forward part; a norm before each. */
function attention({ d_model, dim_feedforward }: Transformer): number {
  const looking = 4 * linear(d_model, d_model);
  return looking + chain([d_model, dim_feedforward, d_model], linear) + 2 * norm(d_model);
}

/** Parameters of a layer on each ticker's vector and the mean of all. */
export function meanContext({ hidden_dims }: Filled<typeof LSTM.entry>): number {
  const width = hidden_dims.at(-1)!;
  return linear(2 * width, width);
}

/** Parameters of one more attention layer, across tickers, and the norm after it. */
export function attentionContext(entry: Transformer): number {
  return attention(entry) + norm(entry.d_model);
}

/** The path of a setting of run_dl_job in errors. */
export function settingPath(...keys: readonly string[]): string {
  return joinPath("config", ["NN params", "Dot prediction", ...keys]);
}

/** Every head attends with d_model / nhead numbers. */
function headFaults(architecture: string, entry: unknown): Fault[] {
  const read = headsSchema.safeParse(entry);
  if (!read.success || read.data.d_model % read.data.nhead === 0) return [];
  const { d_model, nhead } = read.data;
  const possible = divisors(d_model).filter((divisor) => divisor <= LIMITS.heads);
  return [
    {
      path: settingPath("models_params", architecture, "nhead"),
      message:
        `must divide d_model, got ${nhead}${byDefault(entry, "nhead")} ` +
        `for d_model ${d_model}${byDefault(entry, "d_model")}; these do: ${possible.join(", ")}`,
    },
  ];
}

/** Each block divides the window's length by pool_size, rounded down; the last one must have a row. */
function poolingFaults(_architecture: string, entry: unknown, lookback: Lookback | undefined): Fault[] {
  const pooling = poolingSchema.safeParse(entry);
  if (!pooling.success || lookback === undefined) return [];
  const { filters, pool_size } = pooling.data;
  const least = pool_size ** filters.length;
  if (lookback.rows >= least) return [];
  const block = 1 + Math.floor(Math.log(lookback.rows) / Math.log(pool_size) + 1e-9);
  const rows = Math.floor(lookback.rows / pool_size ** (block - 1));
  const shrink = `give fewer filters than ${filters.length} or a smaller pool_size than ${pool_size}`;
  const cure = least <= LIMITS.lookback ? `the least that works is ${least}; or ${shrink}` : shrink;
  return [
    {
      path: settingPath("data_processing", "lookback"),
      message:
        `is too short for the pooling of the cnn, got ${lookback.rows}${lookback.isDefault ? " (the default)" : ""}: ` +
        `block ${block} of ${filters.length} would pool ${rows} row${rows === 1 ? "" : "s"} by ${pool_size}; ${cure}`,
    },
  ];
}

function byDefault(entry: unknown, key: string): string {
  return memberOf(entry, key) === undefined ? " (the default)" : "";
}

function divisors(number: number): number[] {
  return Array.from({ length: number }, (_, i) => i + 1).filter((candidate) => number % candidate === 0);
}

export function memberOf(value: unknown, key: string): unknown {
  const isObject = typeof value === "object" && value !== null && Object.hasOwn(value, key);
  return isObject ? (value as Record<string, unknown>)[key] : undefined;
}
