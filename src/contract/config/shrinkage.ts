import { z } from "zod";

/** What becomes of a model's forecasts: they stay, or each ticker's are multiplied by its own `s`. */
export const SHRINKAGES = ["none", "own"] as const;
export type ShrinkageChoice = (typeof SHRINKAGES)[number];

export const shrinkageSchema = z
  .enum(SHRINKAGES)
  .default("none")
  .describe(
    "own: every forecast of a ticker, mu included, is multiplied by its s of metrics.shrinkage, which lies in [0, 1].",
  );
