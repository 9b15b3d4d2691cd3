import { z } from "zod";
import * as s from "../schema/open-schema.ts";
import { LIMITS } from "./limits.ts";

export const INTERVAL_BOUNDS = ["both", "lower", "upper"] as const;

/** How the intervals are made: `adaptive` follows the ticker's volatility, `split` keeps a constant width. Our addition. */
export const INTERVAL_METHODS = ["adaptive", "split"] as const;
export type IntervalMethod = (typeof INTERVAL_METHODS)[number];

/** Without its switch: undefined if that is off. */
export const intervalsSchema = s
  .named("Intervals", {
    enabled: z.boolean().default(true),
    alpha: s.byDefault(
      z.number().gt(0).lt(1),
      0.1,
      "Nominal miscoverage: with 0.1, 90 % of the realised returns should fall inside the interval.",
    ),
    bound: z.enum(INTERVAL_BOUNDS).default("both"),
    method: s.byDefault(
      z.enum(INTERVAL_METHODS),
      "adaptive",
      "adaptive: the width follows the ticker's volatility and its misses. split: one width for all rows.",
    ),
  })
  .transform(({ enabled, ...intervals }) => (enabled ? intervals : undefined));

/** The feature scalers of both jobs; networks always scale, so they do not take `none`. */
export const SCALERS = ["none", "standard", "minmax", "robust", "maxabs"] as const;
export type ScalerName = (typeof SCALERS)[number];

export const FITS = ["per_ticker", "pooled"] as const;

/**
 * What to do with a model's forecasts: keep them, or multiply them by a factor in [0, 1]: one for all tickers, one per ticker that is
 * pulled towards that, or one per ticker from its own rows alone.
 */
export const SHRINKAGES = ["none", "pooled", "empirical_bayes", "own"] as const;
export type ShrinkageChoice = (typeof SHRINKAGES)[number];

export const shrinkageSchema = s.byDefault(
  z.enum(SHRINKAGES),
  "none",
  "The factor in [0, 1] that multiplies every forecast, including mu. none: no factor. pooled: one factor for all tickers, which keeps their order; with target relative or rank, it multiplies the distance from the common level of the date. empirical_bayes: one factor per ticker, pulled towards the pooled one. own: the ticker's own s of metrics.shrinkage, which sets many tickers to 0.",
);

/** Undefined if it is off. */
const smoothingSchema = s
  .named(
    "Smoothing",
    "Averages each ticker's forecasts over dates, relative to those of the other tickers, so that fewer trades follow from them.",
    {
      half_life: z
        .number()
        .min(0)
        .max(LIMITS.halfLife)
        .describe("The number of dates after which a forecast weighs half as much; 0 is off."),
    },
  )
  .transform(({ half_life }) => (half_life === 0 ? undefined : { half_life }));

export const panelFields = {
  delay: s.byDefault(
    s.integer(0, LIMITS.delay),
    0,
    "The number of closes between a forecast and the trade on it. 0: models learn the return from the row's own close to the next. 1: the return from the next close to the one after it, which an order placed after the row's close earns.",
  ),
  target: s.byDefault(
    z.enum(["return", "relative", "rank"]).meta({ id: "Target" }),
    "return",
    "return: models learn the next-day log-return, or with delay that of a later day. relative: models learn the return's z-score among the tickers of its date; forecasts are still returns. rank: the same with the normal score of the return's rank.",
  ),
  cross_section: s.byDefault(
    z.boolean(),
    false,
    "Adds to each feature its z-score among the tickers that have it on the same date.",
  ),
  smoothing: smoothingSchema.optional(),
  refit_every: s.optional(
    s.integer(1, LIMITS.refitEvery),
    "Fits the models again after this many dates with score rows, on all labels known by then. Without it, one fit forecasts all score rows.",
  ),
};

const sharedSchema = z.object({
  intervals: intervalsSchema.optional(),
  shrinkage: shrinkageSchema,
  ...panelFields,
  window: z.int().optional(),
});

export type SharedSettings = Readonly<z.infer<typeof sharedSchema>>;
export type Intervals = Readonly<NonNullable<SharedSettings["intervals"]>>;
export type PanelSettings = Pick<SharedSettings, "delay" | "target" | "cross_section">;
export type RefitSettings = Pick<SharedSettings, "refit_every" | "window">;

/** Whether an output describes the blocks of its score rows. */
export function recordsRefits({ refit_every, window }: RefitSettings): boolean {
  return refit_every !== undefined || window !== undefined;
}
