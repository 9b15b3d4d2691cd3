import { z } from "zod";
import { integer, named } from "../schema/open-schema.ts";
import { LIMITS } from "./limits.ts";

/** Which side of a forecast has a bound. */
export const INTERVAL_BOUNDS = ["both", "lower", "upper"] as const;

/** How the intervals are made: `adaptive` follows the ticker's volatility, `split` keeps a constant width. Our addition. */
export const INTERVAL_METHODS = ["adaptive", "split"] as const;
export type IntervalMethod = (typeof INTERVAL_METHODS)[number];

export const intervalsSchema = named("Intervals", {
  enabled: z.boolean().default(true),
  alpha: z
    .number()
    .gt(0)
    .lt(1)
    .default(0.1)
    .describe("Nominal miscoverage: with 0.1, 90 % of the realised returns should fall inside the interval."),
  bound: z.enum(INTERVAL_BOUNDS).default("both"),
  method: z
    .enum(INTERVAL_METHODS)
    .default("adaptive")
    .describe(
      "adaptive: the width follows the ticker's volatility and its misses. split: one width for all rows.",
    ),
});

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

export const shrinkageSchema = z
  .enum(SHRINKAGES)
  .default("none")
  .describe(
    "The factor in [0, 1] that multiplies every forecast, including mu. none: no factor. pooled: one factor for all tickers, which keeps their order; with target relative or rank, it multiplies the distance from the common level of the date. empirical_bayes: one factor per ticker, pulled towards the pooled one. own: the ticker's own s of metrics.shrinkage, which sets many tickers to 0.",
  );

const smoothingSchema = named("Smoothing", {
  half_life: z
    .number()
    .min(0)
    .max(LIMITS.halfLife)
    .describe("The number of dates after which a forecast weighs half as much; 0 is off."),
}).describe(
  "Averages each ticker's forecasts over dates, relative to those of the other tickers, so that fewer trades follow from them.",
);

export const panelFields = {
  delay: integer(0, LIMITS.delay)
    .default(0)
    .describe(
      "The number of closes between a forecast and the trade on it. 0: models learn the return from the row's own close to the next. 1: the return from the next close to the one after it, which an order placed after the row's close earns.",
    ),
  target: z
    .enum(["return", "relative", "rank"])
    .meta({ id: "Target" })
    .default("return")
    .describe(
      "return: models learn the next-day log-return, or with delay that of a later day. relative: models learn the return's z-score among the tickers of its date; forecasts are still returns. rank: the same with the normal score of the return's rank.",
    ),
  cross_section: z
    .boolean()
    .default(false)
    .describe("Adds to each feature its z-score among the tickers that have it on the same date."),
  smoothing: smoothingSchema.optional(),
  refit_every: integer(1, LIMITS.refitEvery)
    .optional()
    .describe(
      "Fits the models again after this many dates with score rows, on all labels known by then. Without it, one fit forecasts all score rows.",
    ),
};

const sectionSchema = z.object({
  intervals: intervalsSchema.optional(),
  shrinkage: shrinkageSchema,
  ...panelFields,
  window: z.int().optional(),
});
type Section = z.infer<typeof sectionSchema>;

/** The intervals of a job: every field of the config except its switch. */
export type Intervals = Readonly<Omit<z.infer<typeof intervalsSchema>, "enabled">>;

export interface PanelSettings {
  /** The number of closes between a row's close and the close at which its return begins. */
  readonly delay: number;
  readonly target: Section["target"];
  readonly crossSection: boolean;
}

export interface RefitSettings {
  /** The number of dates that one set of models forecasts; absent if the models of the cut forecast all score rows. */
  readonly refitEvery?: number;
  /** The number of label dates that each fit learns from; absent if it learns from all. */
  readonly window?: number;
}

export interface SharedSettings extends PanelSettings, RefitSettings {
  /** Absent if the job makes no intervals. */
  readonly intervals?: Intervals;
  readonly shrinkage: ShrinkageChoice;
  /** Of smoothing, in dates, above 0; absent if forecasts are not smoothed. */
  readonly halfLife?: number;
}

export function sharedSettings(section: Section): SharedSettings {
  const { enabled, ...intervals } = section.intervals ?? { enabled: false };
  return {
    ...(enabled ? { intervals: intervals as Intervals } : {}),
    shrinkage: section.shrinkage,
    ...(section.smoothing?.half_life && { halfLife: section.smoothing.half_life }),
    delay: section.delay,
    target: section.target,
    crossSection: section.cross_section,
    ...(section.refit_every && { refitEvery: section.refit_every }),
    ...(section.window && { window: section.window }),
  };
}

/** The settings as an output records them: those that differ from the defaults, as before they existed. */
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

export function recordedSmoothing({ halfLife }: Pick<SharedSettings, "halfLife">) {
  return halfLife === undefined ? {} : { smoothing: { half_life: halfLife } };
}

export function recordedRefitSettings({ refitEvery, window }: RefitSettings): Record<string, number> {
  return { ...(refitEvery && { refit_every: refitEvery }), ...(window && { window }) };
}

/** Whether an output describes the blocks of its score rows. */
export function recordsRefits({ refitEvery, window }: RefitSettings): boolean {
  return refitEvery !== undefined || window !== undefined;
}
