import { z } from "zod";
import type { Fault } from "../errors/errors.ts";
import { joinPath } from "../errors/faults.ts";
import { lookbackSchema } from "./dl-config.ts";
import { LIMITS } from "./limits.ts";
import {
  ARCHITECTURES,
  type Architecture,
  architecturesOf,
  cnnSchema,
  type Monitor,
  NETWORKS,
  transformerSchema,
} from "./networks.ts";
import type { RefitStart } from "./refit-settings.ts";

/** The path of a setting of run_dl_job in errors. */
export function settingPath(...keys: readonly string[]): string {
  return joinPath("config", ["NN params", "Dot prediction", ...keys]);
}

const headsSchema = z.object({
  d_model: transformerSchema.shape.d_model,
  nhead: transformerSchema.shape.nhead,
});
const poolingSchema = z.object({ filters: cnnSchema.shape.filters, pool_size: cnnSchema.shape.pool_size });

const predictionSchema = z.object({
  "current option": z.enum(ARCHITECTURES),
  data_processing: z.unknown().optional(),
  training_params: z.unknown().optional(),
  models_params: z.unknown().optional(),
  refit_every: z.unknown().optional(),
  refit_start: z.unknown().optional(),
});

/**
 * Faults of settings that are valid one by one but make no network together; only the entry of `current option` counts.
 * A field that is invalid by itself is skipped, because the schema reports it.
 * @param config a config as its author wrote it, checked or not.
 */
export function networkFaults(config: unknown): Fault[] {
  const read = predictionSchema.safeParse(memberOf(memberOf(config, "NN params"), "Dot prediction"));
  if (!read.success) return [];
  const { "current option": architecture, training_params, models_params, data_processing } = read.data;
  const monitor = monitorFaults(architecture, memberOf(training_params, "monitor"));
  const entry = memberOf(models_params, architecture) ?? {};
  const layers = layerFaults(architecture, entry, data_processing);
  return [...monitor, ...layers, ...refitFaults(read.data)];
}

function refitFaults({ refit_every, refit_start }: z.infer<typeof predictionSchema>): Fault[] {
  if (refit_every !== undefined || refit_start !== ("warm" satisfies RefitStart)) return [];
  const message =
    "must be cold without refit_every, got warm: no network is trained again; set refit_every too";
  return [{ path: settingPath("refit_start"), message }];
}

/** An IC compares the tickers of a date, and a network of one ticker knows no other. */
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

function layerFaults(architecture: Architecture, entry: unknown, data_processing: unknown): Fault[] {
  switch (architecture) {
    case "cnn":
      return poolingFaults(entry, memberOf(data_processing, "lookback"));
    case "transformer":
    case "portfolio_transformer":
      return headFaults(architecture, entry);
    case "lstm":
    case "portfolio_lstm":
    case "mlp":
      return [];
  }
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
function poolingFaults(entry: unknown, written: unknown): Fault[] {
  const pooling = poolingSchema.safeParse(entry);
  const window = lookbackSchema.safeParse(written);
  if (!pooling.success || !window.success) return [];
  const { filters, pool_size } = pooling.data;
  const lookback = window.data;
  const least = pool_size ** filters.length;
  if (lookback >= least) return [];
  const block = 1 + Math.floor(Math.log(lookback) / Math.log(pool_size) + 1e-9);
  const rows = Math.floor(lookback / pool_size ** (block - 1));
  const shrink = `give fewer filters than ${filters.length} or a smaller pool_size than ${pool_size}`;
  const cure = least <= LIMITS.lookback ? `the least that works is ${least}; or ${shrink}` : shrink;
  return [
    {
      path: settingPath("data_processing", "lookback"),
      message:
        `is too short for the pooling of the cnn, got ${lookback}${written === undefined ? " (the default)" : ""}: ` +
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

function memberOf(value: unknown, key: string): unknown {
  const isObject = typeof value === "object" && value !== null && Object.hasOwn(value, key);
  return isObject ? (value as Record<string, unknown>)[key] : undefined;
}
