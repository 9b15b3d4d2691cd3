import { z } from "zod";
import type { Fault } from "../../errors/errors.ts";
import { invalidRequest } from "../../errors/faults.ts";
import { counted } from "../../errors/wording.ts";
import { lookbackSchema } from "../dl-config.ts";
import { LIMITS } from "../limits.ts";
import { memberOf, settingPath } from "./network-encoders.ts";
import {
  ARCHITECTURES,
  type Architecture,
  architecturesOf,
  type Monitor,
  NETWORKS,
  type NetworkSpec,
  parameterCount,
  type TrainingSpec,
} from "./networks.ts";

const predictionSchema = z.object({
  "current option": z.enum(ARCHITECTURES),
  data_processing: z.unknown().optional(),
  training_params: z.unknown().optional(),
  models_params: z.unknown().optional(),
});

/**
 * Faults of settings that are valid one by one but cannot form a network together. Only the entry of `current option` counts. A field that
 * is invalid by itself is skipped, because the schema reports it.
 * @param config a config as its author wrote it, checked or not.
 */
export function networkFaults(config: unknown): Fault[] {
  const read = predictionSchema.safeParse(memberOf(memberOf(config, "NN params"), "Dot prediction"));
  if (!read.success) return [];
  const { "current option": architecture, training_params, models_params, data_processing } = read.data;
  const monitor = monitorFaults(architecture, memberOf(training_params, "monitor"));
  const entry = memberOf(models_params, architecture) ?? {};
  const written = memberOf(data_processing, "lookback");
  const { data: rows } = lookbackSchema.safeParse(written);
  const lookback = rows === undefined ? undefined : { rows, isDefault: written === undefined };
  const faults = NETWORKS[architecture].faults?.(architecture, entry, lookback) ?? [];
  return [...monitor, ...faults];
}

/** An IC compares the tickers of a date, but a network of one ticker knows no other. */
function monitorFaults(architecture: Architecture, monitor: unknown): Fault[] {
  if (NETWORKS[architecture].joint || monitor !== ("ic" satisfies Monitor)) return [];
  const joint = architecturesOf({ joint: true }).join(" and ");
  return [
    {
      path: settingPath("training_params", "monitor"),
      message: `must be loss for ${architecture}, which sees only one ticker, got ic; ${joint} can use ic`,
    },
  ];
}

/** The settings that decide the size of a network and its batches. */
interface SizedNetwork {
  readonly network: NetworkSpec;
  readonly training: Pick<TrainingSpec, "batch_size">;
  readonly lookback: number;
  readonly joint: boolean;
}

/**
 * Refuses a network that exceeds the limits of docs/config.md.
 * @param features columns of its input; for a joint network the union of the tickers'.
 * @param tickers in one sample: 1, unless the network is joint.
 * @throws MucastError invalid_request.
 */
export function checkNetworkSize(settings: SizedNetwork, features: number, tickers = 1): void {
  const faults = [...parameterFaults(settings, features), ...batchFaults(settings, features, tickers)];
  if (faults.length > 0) throw invalidRequest(faults);
}

function parameterFaults({ network, lookback }: SizedNetwork, features: number): Fault[] {
  const count = parameterCount(network, features, lookback);
  if (count <= LIMITS.networkParameters) return [];
  const { architecture } = network;
  const widths = NETWORKS[architecture].widths(network as never, lookback);
  return [
    {
      path: settingPath("models_params", architecture),
      message:
        `makes a network of ${grouped(count)} parameters with ${counted(features, "feature")}; ` +
        `at most ${grouped(LIMITS.networkParameters)} are accepted: lower ${widths}`,
    },
  ];
}

/**
 * A joint network processes its batch in pieces of whole dates. A piece has at most this many windows, or a single date if that has more.
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

function grouped(count: number): string {
  return count.toLocaleString("en-US");
}
