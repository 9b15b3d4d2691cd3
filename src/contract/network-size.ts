import { counted } from "./counted.ts";
import type { Fault } from "./errors.ts";
import { invalidRequest } from "./faults.ts";
import { LIMITS } from "./limits.ts";
import { settingPath } from "./network-faults.ts";
import type { NetworkSpec, TrainingSpec } from "./network-spec.ts";
import { parameterCount } from "./parameter-count.ts";

/** What decides how large a network and its batches are. */
export interface SizedNetwork {
  readonly network: NetworkSpec;
  readonly training: Pick<TrainingSpec, "batch_size">;
  readonly lookback: number;
  readonly joint: boolean;
}

/**
 * Refuses a network that is beyond the limits of docs/config.md.
 * @param features columns of its input; for a joint network the union of the tickers'.
 * @param tickers that one sample holds: 1, unless the network is a joint one.
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

/** A joint network works on its batch in pieces, whole dates of so many windows at most where one is no larger. */
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
