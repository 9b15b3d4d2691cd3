import type { NetworkSpec } from "./network-spec.ts";

/**
 * How many numbers the engine's network learns.
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

/** The last filters at every row that the pools leave, side by side. */
function cnnWidth({ filters, pool_size }: Spec<"cnn">, lookback: number): number {
  return filters.at(-1)! * Math.floor(lookback / pool_size ** filters.length);
}

/** Embedding, a position for every row, the layers, and the norm after them. */
function transformer(network: TransformerSpec, features: number, lookback: number): number {
  const { d_model, num_layers } = network;
  return linear(features, d_model) + lookback * d_model + num_layers * attention(network) + norm(d_model);
}

/** One layer: query, key, value and their join; the feed-forward part; a norm before each. */
function attention({ d_model, dim_feedforward }: TransformerSpec): number {
  const looking = 4 * linear(d_model, d_model);
  return looking + chain([d_model, dim_feedforward, d_model], linear) + 2 * norm(d_model);
}

/** Across tickers: a layer on each ticker beside the mean of all. */
function meanContext(width: number): number {
  return linear(2 * width, width);
}

/** Across tickers: one more attention layer, and the norm after it. */
function attentionContext(network: TransformerSpec): number {
  return attention(network) + norm(network.d_model);
}
