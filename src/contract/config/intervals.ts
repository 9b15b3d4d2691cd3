import { z } from "zod";

/** Which side of a forecast has a bound. */
export const INTERVAL_BOUNDS = ["both", "lower", "upper"] as const;

/** How the intervals are made: `adaptive` follows the ticker's volatility, `split` keeps a constant width. Our addition. */
export const INTERVAL_METHODS = ["adaptive", "split"] as const;
export type IntervalMethod = (typeof INTERVAL_METHODS)[number];

/** Conformal prediction intervals. The object switches them on, even if it is empty. */
export const intervalsSchema = z
  .strictObject({
    enabled: z.boolean().default(true),
    alpha: z
      .number()
      .gt(0)
      .lt(1)
      .default(0.1)
      .describe(
        "Nominal miscoverage: with 0.1, 90 % of the realised returns should fall inside the interval.",
      ),
    bound: z.enum(INTERVAL_BOUNDS).default("both"),
    method: z
      .enum(INTERVAL_METHODS)
      .default("adaptive")
      .describe(
        "adaptive: the width follows the ticker's volatility and its misses. split: one width for all rows.",
      ),
  })
  .meta({ id: "Intervals" });

/** The intervals of a job: every field of the config except its switch. */
export type Intervals = Readonly<Omit<z.infer<typeof intervalsSchema>, "enabled">>;

/** @returns a settings object's `intervals`; none if the config has none or switches them off. */
export function intervalsAskedFor(given: z.infer<typeof intervalsSchema> | undefined): {
  readonly intervals?: Intervals;
} {
  if (!given?.enabled) return {};
  const { enabled: _, ...intervals } = given;
  return { intervals };
}

/** The feature scalers of both jobs; networks always scale, so they do not take `none`. */
export const SCALERS = ["none", "standard", "minmax", "robust", "maxabs"] as const;
export type ScalerName = (typeof SCALERS)[number];
