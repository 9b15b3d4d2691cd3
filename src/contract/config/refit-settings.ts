import { z } from "zod";
import { LIMITS } from "./limits.ts";

/** How models are refitted while forecasting the score rows, and how far back each fit learns. Our addition. */
export interface RefitSettings {
  /** The number of dates that one set of models forecasts; absent if the models of the cut forecast all score rows. */
  readonly refitEvery?: number;
  /** The number of label dates that each fit learns from; absent if it learns from all. */
  readonly window?: number;
}

export const refitEverySchema = z
  .int()
  .min(1)
  .max(LIMITS.refitEvery)
  .optional()
  .describe(
    "Fits the models again after this many dates with score rows, on all labels known by then. Without it, one fit forecasts all score rows.",
  );

export const windowSchema = z
  .int()
  .min(LIMITS.leastWindow)
  .max(LIMITS.window)
  .optional()
  .describe("Each fit learns only from its last `window` label dates. Without it, each fit learns from all.");

export const networkWindowSchema = z
  .int()
  .min(LIMITS.leastNetworkWindow)
  .max(LIMITS.window)
  .optional()
  .describe(
    "Each network learns only from its last `window` label dates, including validation and calibration. Without it, each network learns from all.",
  );

/** The given settings, for `exactOptionalPropertyTypes`. */
export function refitSettings(refitEvery: number | undefined, window: number | undefined): RefitSettings {
  return {
    ...(refitEvery === undefined ? {} : { refitEvery }),
    ...(window === undefined ? {} : { window }),
  };
}

/** The settings as an output records them: only the given ones. */
export function recordedRefitSettings({ refitEvery, window }: RefitSettings): Record<string, number> {
  return {
    ...(refitEvery === undefined ? {} : { refit_every: refitEvery }),
    ...(window === undefined ? {} : { window }),
  };
}

/** Whether an output describes the blocks of its score rows. */
export function recordsRefits({ refitEvery, window }: RefitSettings): boolean {
  return refitEvery !== undefined || window !== undefined;
}
