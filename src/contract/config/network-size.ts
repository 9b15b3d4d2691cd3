import type { Fault } from "../errors/errors.ts";
import { invalidRequest } from "../errors/faults.ts";
import { counted } from "../errors/wording.ts";
import { LIMITS } from "./limits.ts";
import { settingPath } from "./network-faults.ts";
import type { NetworkSpec, TrainingSpec } from "./networks.ts";

/** The settings that decide how large a network and its batches are. */
interface SizedNetwork {
  readonly network: NetworkSpec;
  readonly training: Pick<TrainingSpec, "batch_size">;
  readonly lookback: number;
  readonly joint: boolean;
}

/**
 * Refuses a network that is beyond the limits of docs/config.md.
 * @param features columns of its input; for a joint network the union of the tickers'.
 * @param tickers in one sample: 1, unless the network is a joint one.
 * @throws MucastError invalid_request.
 */
export function checkNetworkSize(settings: SizedNetwork, features: number, tickers = 1): void {
  const faults = [...parameterFaults(settings, features), ...batchFaults(settings, features, tickers)];
  if (faults.length > 0) throw invalidRequest(faults);
}

function parameterFaults({ network, lookback }: SizedNetwork, features: number): Fault[] {
  const count = parameterCount(network, features, lookback);
  if (count <= LIMITS.networkParameters) return [];
  return [
    {
      path: settingPath("models_params", network.architecture),
      message:
        `makes a network of ${grouped(count)} parameters with ${counted(features, "feature")}; ` +
        `at most ${grouped(LIMITS.networkParameters)} are accepted: lower ${widths(network, lookback)}`,
    },
  ];
}

/**
 * A joint network works on its batch in pieces of whole dates. A piece has at most so many windows, or one date where that
 * has more.
 */
const WINDOWS_OF_A_PIECE = 2_048;

function batchFaults(
  { training, lookback, joint }: SizedNetwork,
  features: number,
  tickers: number,
): Fault[] {
  const { batch_size: batchSize } = training;
  const windows = joint ? Math.min(batchSize * tickers, Math.max(WINDOWS_OF_A_PIECE, tickers)) : batchSize;
  const count = windows * lookback * features;
  if (count <= LIMITS.batchElements) return [];
  const of = `lookback ${lookback} x ${counted(features, "feature")}`;
  return [
    {
      path: settingPath("data_processing", "batch_size"),
      message:
        `makes batches of ${grouped(count)} numbers (${grouped(windows)} windows x ${of}); ` +
        `at most ${grouped(LIMITS.batchElements)} are accepted: lower batch_size or lookback`,
    },
  ];
}

/** The settings that decide how large a network is, with their values. */
function widths(network: NetworkSpec, lookback: number): string {
  switch (network.architecture) {
    case "lstm":
    case "portfolio_lstm":
      return `hidden_dims ${JSON.stringify(network.hidden_dims)}`;
    case "mlp":
      return `hidden_dims ${JSON.stringify(network.hidden_dims)} or lookback ${lookback}`;
    case "cnn":
      return `filters ${JSON.stringify(network.filters)} or kernel_size ${network.kernel_size}`;
    case "transformer":
    case "portfolio_transformer":
      return (
        `d_model ${network.d_model}, dim_feedforward ${network.dim_feedforward} ` +
        `or num_layers ${network.num_layers}`
      );
  }
}

function grouped(count: number): string {
  return count.toLocaleString("en-US");
}

/**
 * How many numbers the engine's network learns; test/cases/network-sizes.json holds both counts equal.
 * @param features columns of its input.
 * @param lookback rows of its window.
 */
export function parameterCount(network: NetworkSpec, features: number, lookback: number): number {
  switch (network.architecture) {
    case "lstm":
      return lstm(network, features) + readout(network.hidden_dims.at(-1)!);
    case "portfolio_lstm": {
      const width = network.hidden_dims.at(-1)!;
      return lstm(network, features) + meanContext(width) + readout(width);
    }
    case "cnn":
      return cnn(network, features) + readout(cnnWidth(network, lookback));
    case "mlp":
      return chain([lookback * features, ...network.hidden_dims, 1], linear);
    case "transformer":
      return transformer(network, features, lookback) + readout(network.d_model);
    case "portfolio_transformer":
      return transformer(network, features, lookback) + attentionContext(network) + readout(network.d_model);
  }
}

type Spec<Name extends NetworkSpec["architecture"]> = Extract<NetworkSpec, { readonly architecture: Name }>;
type LstmSpec = Spec<"lstm" | "portfolio_lstm">;
type TransformerSpec = Spec<"transformer" | "portfolio_transformer">;

/** Sum of `layer` from each width to the next. */
function chain(sizes: readonly number[], layer: (from: number, to: number) => number): number {
  return sizes.slice(1).reduce((sum, size, i) => sum + layer(sizes[i]!, size), 0);
}

function linear(from: number, to: number): number {
  return from * to + to;
}

function readout(width: number): number {
  return linear(width, 1);
}

function norm(width: number): number {
  return 2 * width;
}

/** As torch.nn.LSTM counts: four gates, each with two biases. */
function lstm({ hidden_dims }: LstmSpec, features: number): number {
  return chain([features, ...hidden_dims], (from, to) => 4 * to * (from + to + 2));
}

function cnn({ filters, kernel_size }: Spec<"cnn">, features: number): number {
  return chain([features, ...filters], (from, to) => linear(from * kernel_size, to));
}

/** The outputs of the last filters, side by side for each row after the pools. */
function cnnWidth({ filters, pool_size }: Spec<"cnn">, lookback: number): number {
  return filters.at(-1)! * Math.floor(lookback / pool_size ** filters.length);
}

/** Embedding, a position for each row, the layers, and the norm after them. */
function transformer(network: TransformerSpec, features: number, lookback: number): number {
  const { d_model, num_layers } = network;
  return linear(features, d_model) + lookback * d_model + num_layers * attention(network) + norm(d_model);
}

/** One layer: query, key, value and their output; the feed-forward part; a norm before each. */
function attention({ d_model, dim_feedforward }: TransformerSpec): number {
  const looking = 4 * linear(d_model, d_model);
  return looking + chain([d_model, dim_feedforward, d_model], linear) + 2 * norm(d_model);
}

/** Across tickers: a layer on each ticker's state beside the mean of all. */
function meanContext(width: number): number {
  return linear(2 * width, width);
}

/** Across tickers: one more attention layer, and the norm after it. */
function attentionContext(network: TransformerSpec): number {
  return attention(network) + norm(network.d_model);
}
