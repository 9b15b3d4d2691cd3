import { z } from "zod";
import { INTERVAL_BOUNDS, INTERVAL_METHODS } from "../config/panel-settings.ts";
import {
  count,
  date,
  list,
  maybe,
  maybeAbsent,
  mayGrow,
  named,
  optionalList,
  optionalNumber,
  positive,
  text,
} from "../schema/open-schema.ts";

export const byTicker = <T extends z.ZodType>(value: T) => z.record(text, value);

/** How the error of a mean over dates is estimated, which decides its quantile. */
const TEST_METHODS = ["ewc_8", "newey_west_5", "student"] as const;

export type TestMethod = (typeof TEST_METHODS)[number];

export const testMethodSchema = mayGrow(z.enum(TEST_METHODS).meta({ id: "TestMethod" }))
  .optional()
  .describe(
    "How the error of t is estimated: `ewc_8` by 8 cosine sums, from 60 dates on, with Student's quantile for 8 degrees of freedom; `newey_west_5` by Newey and West with lag 5 and the fixed-b quantile, with fewer dates and in outputs of 0.2.0, which lack this; `student` as the root of the sum of squares, with Student's quantile.",
  );

/** Forecast quality over n rows. Undefined metrics are null. */
export const metricsSchema = named("Metrics", {
  n: count,
  rmse: maybe.describe("Root mean squared error, log-return."),
  mae: maybe.describe("Mean absolute error, log-return."),
  hit_rate: maybe.describe(
    "Share of rows with the right sign, over rows where neither label nor forecast is 0.",
  ),
  up_share: maybeAbsent.describe("Share of those rows with a return above 0."),
  hit_rate_se: maybeAbsent.describe("Binomial standard error of the hit rate, as if rows were independent."),
  r2_zero: maybe.describe("1 - SSE / sum y^2: against the zero forecast."),
  r2_mean: maybe.describe("1 - SSE / sum (y - mean of the training labels)^2."),
  correlation: maybe.describe("Pearson correlation of labels and forecasts."),
});

/** Information coefficients: correlation across tickers on each date with at least 3 of them. */
const crossSectionSchema = named("CrossSection", {
  dates: count,
  mean_tickers: maybeAbsent.describe("Mean number of tickers per date."),
  ic_mean: maybe,
  ic_std: maybe,
  icir: maybe,
  ic_t: maybe.describe("icir x sqrt(dates), as if dates were independent; verdicts use another error."),
  ic_t_newey_west: maybeAbsent.describe("Allows for correlation over time, up to a lag of 5 dates."),
  rank_ic_mean: maybe,
  rank_ic_std: maybe,
  rank_icir: maybe,
  rank_ic_t: maybe.describe("The same for RankIC."),
});

/** Realised coverage of intervals over n rows that have labels and ends. */
const coverageSchema = named("Coverage", {
  n: count,
  coverage: maybe,
  mean_width: maybe.describe("Log-return; null for one-sided intervals."),
  interval_score: maybeAbsent.describe(
    "Winkler score: the width plus 2 / alpha times the distance of a miss. Lower is better.",
  ),
});

const prequentialCoverageSchema = z
  .strictObject({ n: count, coverage: maybe })
  .describe(
    "Coverage of residuals by intervals made from earlier residuals: evidence before any label of a score row is known.",
  );

/** Outputs of versions before 0.2 have none of the optional members. */
export const intervalEvidenceSchema = named("IntervalEvidence", {
  ...coverageSchema.shape,
  by_year: z.record(text, coverageSchema).optional().describe("By calendar year of the row."),
  high_volatility: coverageSchema
    .optional()
    .describe(
      "Over the tenth of each ticker's labelled rows with the largest standard deviation of the last 20 known returns.",
    ),
  worst_250: maybeAbsent.describe("The lowest coverage of 250 successive rows of one ticker."),
  prequential: prequentialCoverageSchema.nullable().optional(),
});

const jointMissesSchema = named("JointMisses", {
  dates: count.describe("Dates on which at least five tickers have a label and ends."),
  half_missed: count.describe("Number of those dates on which at least half of these tickers missed."),
});

const intervalTableSchema = named("IntervalTable", {
  pooled: intervalEvidenceSchema,
  by_volatility: optionalList(coverageSchema).describe(
    "Over all tickers, ten entries: tenths of each ticker's labelled rows by the standard deviation of the last 20 known returns, the quietest first.",
  ),
  joint_misses: jointMissesSchema.optional(),
  by_ticker: byTicker(intervalEvidenceSchema),
});

const metricsTableSchema = named("MetricsTable", {
  pooled: metricsSchema,
  by_ticker: byTicker(metricsSchema),
  cross_section: crossSectionSchema,
  r2_zero_median: maybeAbsent.describe("The median of the tickers' r2_zero."),
});

/** How good an order is if every trade is made some closes after the forecasts. */
const delayedOrderSchema = named("DelayedOrder", {
  delay: count.describe("Closes between the close of the row and the trade."),
  dates: count.describe("Dates that count; all figures of the entry are over the same ones."),
  ic_mean: maybe.describe("Mean IC; null with fewer than 5 tickers, like the next figures up to net_10bp."),
  ic_t: maybe.describe("t of a mean over dates, like every t here."),
  rank_ic_mean: maybe,
  rank_ic_t: maybe,
  spread_mean: maybe.describe(
    "Mean simple return of the top fifth of the forecasts minus that of the bottom fifth, in basis points a day.",
  ),
  spread_t: maybe,
  turnover: maybe.describe("Mean share of the tickers of a fifth that were not in it on the previous date."),
  net_1bp: maybe.describe("The spread after costs of 1 basis point a side, in basis points a day."),
  net_5bp: maybe,
  net_5bp_t: maybeAbsent,
  net_10bp: maybe,
  order_mean: maybeAbsent.describe(
    "Only with fewer than 5 tickers: the mean of the order over time, in place of the IC.",
  ),
  order_t: maybeAbsent,
});

/** The figures by which outputs are compared at the first close after their forecasts. */
export const laterFiguresSchema = named("LaterFigures", {
  delay: positive.describe("Closes between the forecasts and the trade."),
  ic: maybe.describe("Mean IC there; null with fewer than 5 tickers."),
  net_5bp: maybe.describe(
    "Top fifth minus bottom fifth after costs of 5 basis points a side, in basis points a day.",
  ),
  net_low: maybeAbsent.describe("Lower end of its 90 % band; null if it has no error."),
  net_high: maybeAbsent.describe("Upper end of its 90 % band."),
});

/** The quantities from prices that forecasts are compared with. */
export const EXPOSURES = ["beta_252", "volatility_63", "return_5", "return_21", "return_252"] as const;

const exposuresSchema = named("Exposures", {
  dates: count.describe("Dates on which at least 12 tickers have a label and all exposures."),
  ic_mean: maybe.describe("Mean IC over these dates."),
  ic_t: maybe,
  residual: z
    .strictObject({ ic_mean: maybe, ic_t: maybe })
    .describe("Over the same dates, the IC of what the exposures together leave of the forecasts."),
  by_exposure: list(
    named("Exposure", {
      name: mayGrow(z.enum(EXPOSURES)),
      dates: count.describe("Dates on which at least 5 tickers have a forecast and the exposure."),
      correlation_mean: maybe.describe(
        "Mean correlation of forecasts and exposure across the tickers of a date.",
      ),
      correlation_t: maybe,
    }),
  ).describe("One entry per exposure."),
});

/** The table of the model's own forecasts. */
export const modelTableSchema = named("ModelTable", {
  ...metricsTableSchema.shape,
  by_delay: optionalList(delayedOrderSchema).describe(
    "The order traded at the close that the labels assume and one and two closes later, of the forecasts whose order is judged: with shrinkage `pooled` the model's own.",
  ),
  exposures: exposuresSchema
    .optional()
    .describe("What the models' forecasts have in common with prices; absent with fewer than 5 tickers."),
});

export const shrinkageSchema = named("Shrinkage", {
  n: count,
  b: maybe.describe("Slope of labels on forecasts, through 0: sum y p / sum p^2."),
  se: maybe.describe("Standard error of b, robust to changing volatility."),
  s: z
    .number()
    .describe(
      "The share of the forecasts that the slope supports: max(0, min(1, b - se)), and for by_date its expected value.",
    ),
});

const levelsSchema = list(named("LevelSpan", { start: date, level: z.number() })).describe(
  "From each start on, until the next one; 0 before the first.",
);

const baselineSchema = named("BaselineTables", {
  score: metricsTableSchema,
  out_of_fold: metricsTableSchema.optional(),
});

/** What an output says about its forecasts; the tables of older outputs may lack the optional members. */
export const forecastTablesSchema = z.strictObject({
  score: modelTableSchema,
  out_of_fold: modelTableSchema.optional(),
  baselines: z.strictObject({ zero: baselineSchema, mean: baselineSchema }),
  shrinkage: z
    .strictObject({
      pooled: shrinkageSchema,
      by_date: shrinkageSchema
        .optional()
        .describe(
          "The pooled slope with dates as units, of labels on forecasts above the level of their date, in units of each ticker's root mean square label. Its s, the factor of shrinkage `pooled`, is the mean of the slope given b, se and a prior.",
        ),
      by_ticker: byTicker(shrinkageSchema),
      applied: byTicker(z.number())
        .optional()
        .describe("Factor of each ticker's forecasts; absent without shrinkage."),
      levels: z
        .strictObject({ held_out: levelsSchema, score: levelsSchema })
        .optional()
        .describe(
          "With target relative or rank: the common level of all tickers by date, a log-return, for the held-out rows and for the score rows. Shrinkage pooled publishes f = level + s (p - level) for a model's forecast p.",
        ),
    })
    .optional()
    .describe(
      "Whether the model's own forecasts have the right size, on out-of-fold rows; for networks, on the calibration part, or else on the validation part.",
    ),
  intervals: z
    .strictObject({
      method: mayGrow(z.enum(INTERVAL_METHODS).meta({ id: "IntervalMethod" })).optional(),
      alpha: z.number(),
      bound: z.enum(INTERVAL_BOUNDS).meta({ id: "IntervalBound" }),
      constants: z.record(text, z.number()).optional().describe("Constants of the method; empty for split."),
      ...intervalTableSchema.shape,
      other_methods: z
        .record(
          text,
          z.strictObject({
            ...intervalTableSchema.shape,
            score_ratio: maybe.describe(
              "Interval score of the configured method divided by that of this method, as the mean of the tickers' ratios.",
            ),
          }),
        )
        .optional()
        .describe("Results of the other methods on the same rows, by name."),
    })
    .nullable(),
});

/** The member `permutation_importance` of an output of run_ml_job. Our addition. */
export const permutationImportanceSchema = named(
  "PermutationImportance",
  "run_ml_job with importance: how much order the out-of-fold forecasts lose if a group of features is shuffled.",
  {
    form: mayGrow(z.enum(["cross_section", "time_series"])),
    dates: count.describe("Dates that count."),
    figure: maybe.describe(
      "Mean RankIC of the out-of-fold forecasts, before shrinkage, over dates with at least 5 tickers; with fewer than 30 such dates, the order over time, as in `verdict`.",
    ),
    quantile: maybe.describe(
      "The t that a single group exceeds by chance in 5 % of cases; null if there are too few dates.",
    ),
    method: testMethodSchema,
    groups: list(
      z.strictObject({
        features: z.array(text).min(1).describe("Features that are shuffled together."),
        correlation: optionalNumber.describe(
          "Mean absolute rank correlation between the two parts of the group that were merged last: below 0.7 only with more than 50 groups, or for a feature and its z-score. Absent for a single feature.",
        ),
        loss: maybe.describe("`figure` minus the same with these features shuffled."),
        t: maybe.describe("t of the loss over dates."),
      }),
    ).describe("Largest loss first."),
  },
);

export type OutputImportance = z.infer<typeof permutationImportanceSchema>;
export type Metrics = z.infer<typeof metricsSchema>;
export type CrossSection = z.infer<typeof crossSectionSchema>;
export type DelayedOrder = z.infer<typeof delayedOrderSchema>;
export type LaterFigures = z.infer<typeof laterFiguresSchema>;
export type ExposureTable = z.infer<typeof exposuresSchema>;
export type Coverage = z.infer<typeof coverageSchema>;
export type JointMisses = z.infer<typeof jointMissesSchema>;
export type IntervalEvidence = z.infer<typeof intervalEvidenceSchema>;
