import { z } from "zod";

/** Conformal prediction intervals. Giving the object, even empty, switches them on. */
export const intervalsSchema = z
  .strictObject({
    enabled: z.boolean().default(true),
    alpha: z
      .number()
      .gt(0)
      .lt(1)
      .default(0.1)
      .describe("Miscoverage asked for: 0.1 asks that 90 % of the realised returns fall inside."),
    bound: z.enum(["both", "lower", "upper"]).default("both"),
  })
  .meta({ id: "Intervals" });

export type Intervals = z.infer<typeof intervalsSchema>;

export const SCALERS = ["none", "standard", "minmax", "robust", "maxabs"] as const;
export type ScalerName = (typeof SCALERS)[number];
