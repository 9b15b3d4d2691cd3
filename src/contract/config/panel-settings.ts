import { z } from "zod";
import { LIMITS } from "./limits.ts";

/** The tickers whose rows a regressor learns from. Our addition. */
export const FITS = ["per_ticker", "pooled"] as const;
export type FitKind = (typeof FITS)[number];

/** What models learn: a return, or its z-score among the tickers of its date. Our addition. */
const TARGETS = ["return", "relative"] as const;
export type Target = (typeof TARGETS)[number];

/** What both jobs do to the rows of all tickers before anything is fitted. Our addition. */
export interface PanelSettings {
  /** The number of closes between a row's close and the close at which its return begins. */
  readonly delay: number;
  readonly target: Target;
  readonly crossSection: boolean;
}

export const delaySchema = z
  .int()
  .min(0)
  .max(LIMITS.delay)
  .default(0)
  .describe(
    "The number of closes between a forecast and the trade on it. 0: models learn the return from the row's own close to the next. 1: the return from the next close to the one after it, which an order placed after the row's close earns.",
  );

export const targetSchema = z
  .enum(TARGETS)
  .default("return")
  .describe(
    "return: models learn the next-day log-return, or with delay that of a later day. relative: models learn the return's z-score among the tickers of its date; forecasts are still returns.",
  );

export const crossSectionSchema = z
  .boolean()
  .default(false)
  .describe("Adds to each feature its z-score among the tickers that have it on the same date.");

/**
 * The settings as an output records them: those that differ from the defaults, so that an output of a config without them stays as it was
 * before they existed.
 */
export function recordedPanelSettings({
  delay,
  target,
  crossSection,
}: PanelSettings): Record<string, string | number | boolean> {
  return {
    ...(delay === 0 ? {} : { delay }),
    ...(target === "return" ? {} : { target }),
    ...(crossSection ? { cross_section: true } : {}),
  };
}

/**
 * What to do with a model's forecasts: keep them, or multiply them by a factor in [0, 1]: one for all tickers, one per ticker that is
 * pulled towards that, or one per ticker from its own rows alone.
 */
export const SHRINKAGES = ["none", "pooled", "empirical_bayes", "own"] as const;
export type ShrinkageChoice = (typeof SHRINKAGES)[number];

export const shrinkageSchema = z
  .enum(SHRINKAGES)
  .default("none")
  .describe(
    "The factor in [0, 1] that multiplies every forecast, including mu. none: no factor. pooled: one factor for all tickers, which keeps their order; with target relative, it multiplies the distance from the common level of the date. empirical_bayes: one factor per ticker, pulled towards the pooled one. own: the ticker's own s of metrics.shrinkage, which sets many tickers to 0.",
  );
