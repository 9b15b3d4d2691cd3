import { z } from "zod";

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
    "The factor in [0, 1] that multiplies every forecast, including mu. none: no factor. pooled: one factor for all tickers, which keeps their order. empirical_bayes: one factor per ticker, pulled towards the pooled one. own: the ticker's own s of metrics.shrinkage, which sets many tickers to 0.",
  );
