import { z } from "zod";
import { INTERVAL_BOUNDS, INTERVAL_METHODS } from "../config/panel-settings.ts";
import * as s from "../schema/open-schema.ts";

export const byTicker = <T extends z.ZodType>(value: T) => z.record(s.text(), value);

/** How the error of a mean over dates is estimated, which decides its quantile. */
const TEST_METHODS = ["ewc_8", "newey_west_5", "student"] as const;

export type TestMethod = (typeof TEST_METHODS)[number];

export const testMethodSchema = s.optional(
  s.mayGrow(z.enum(TEST_METHODS).meta({ id: "TestMethod" })),
  "How the error of t is estimated: `ewc_8` by 8 cosine sums, from 60 dates on, with Student's quantile for 8 degrees of freedom; `newey_west_5` by Newey and West with lag 5 and the fixed-b quantile, with fewer dates and in outputs of 0.2.0, which lack this; `student` as the root of the sum of squares, with Student's quantile.",
);

/** Forecast quality over n rows. Undefined metrics are null. */
export const metricsSchema = s.named("Metrics", {
  n: s.count(),
  rmse: s.maybe("Root mean squared error, log-return."),
  mae: s.maybe("Mean absolute error, log-return."),
  hit_rate: s.maybe("Share of rows with the right sign, over rows where neither label nor forecast is 0."),
  up_share: s.maybeAbsent("Share of those rows with a return above 0."),
  hit_rate_se: s.maybeAbsent("Binomial standard error of the hit rate, as if rows were independent."),
  r2_zero: s.maybe("1 - SSE / sum y^2: against the zero forecast."),
  r2_mean: s.maybe("1 - SSE / sum (y - mean of the training labels)^2."),
  correlation: s.maybe("Pearson correlation of labels and forecasts."),
});

/** Information coefficients: correlation across tickers on each date with at least 3 of them. */
const crossSectionSchema = s.named("CrossSection", {
  dates: s.count(),
  mean_tickers: s.maybeAbsent("Mean number of tickers per date."),
  ic_mean: s.maybe(),
  ic_std: s.maybe(),
  icir: s.maybe(),
  ic_t: s.maybe("icir x sqrt(dates), as if dates were independent; verdicts use another error."),
  ic_t_newey_west: s.maybeAbsent("Allows for correlation over time, up to a lag of 5 dates."),
  rank_ic_mean: s.maybe(),
  rank_ic_std: s.maybe(),
  rank_icir: s.maybe(),
  rank_ic_t: s.maybe("The same for RankIC."),
});

/** Realised coverage of intervals over n rows that have labels and ends. */
const coverageSchema = s.named("Coverage", {
  n: s.count(),
  coverage: s.maybe(),
  mean_width: s.maybe("Log-return; null for one-sided intervals."),
  interval_score: s.maybeAbsent(
    "Winkler score: the width plus 2 / alpha times the distance of a miss. Lower is better.",
  ),
});

const prequentialCoverageSchema = z
  .strictObject({ n: s.count(), coverage: s.maybe() })
  .describe(
    "Coverage of residuals by intervals made from earlier residuals: evidence before any label of a score row is known.",
  );

/** Outputs of versions before 0.2 have none of the optional members. */
export const intervalEvidenceSchema = s.named("IntervalEvidence", {
  ...coverageSchema.shape,
  by_year: z.record(s.text(), coverageSchema).optional().describe("By calendar year of the row."),
  high_volatility: s.optional(
    coverageSchema,
    "Over the tenth of each ticker's labelled rows with the largest standard deviation of the last 20 known returns.",
  ),
  worst_250: s.maybeAbsent("The lowest coverage of 250 successive rows of one ticker."),
  prequential: prequentialCoverageSchema.nullable().optional(),
});

const jointMissesSchema = s.named("JointMisses", {
  dates: s.count("Dates on which at least five tickers have a label and ends."),
  half_missed: s.count("Number of those dates on which at least half of these tickers missed."),
});

const intervalTableSchema = s.named("IntervalTable", {
  pooled: intervalEvidenceSchema,
  by_volatility: s.optionalList(
    coverageSchema,
    "Over all tickers, ten entries: tenths of each ticker's labelled rows by the standard deviation of the last 20 known returns, the quietest first.",
  ),
  joint_misses: jointMissesSchema.optional(),
  by_ticker: byTicker(intervalEvidenceSchema),
});

const metricsTableSchema = s.named("MetricsTable", {
  pooled: metricsSchema,
  by_ticker: byTicker(metricsSchema),
  cross_section: crossSectionSchema,
  r2_zero_median: s.maybeAbsent("The median of the tickers' r2_zero."),
});

/** How good an order is if every trade is made some closes after the forecasts. */
const delayedOrderSchema = s.named("DelayedOrder", {
  delay: s.count("Closes between the close of the row and the trade."),
  dates: s.count("Dates that count; all figures of the entry are over the same ones."),
  ic_mean: s.maybe("Mean IC; null with fewer than 5 tickers, like the next figures up to net_10bp."),
  ic_t: s.maybe("t of a mean over dates, like every t here."),
  rank_ic_mean: s.maybe(),
  rank_ic_t: s.maybe(),
  spread_mean: s.maybe(
    "Mean simple return of the top fifth of the forecasts minus that of the bottom fifth, in basis points a day.",
  ),
  spread_t: s.maybe(),
  turnover: s.maybe("Mean share of the tickers of a fifth that were not in it on the previous date."),
  net_1bp: s.maybe("The spread after costs of 1 basis point a side, in basis points a day."),
  net_5bp: s.maybe(),
  net_5bp_t: s.maybeAbsent(),
  net_10bp: s.maybe(),
  order_mean: s.maybeAbsent(
    "Only with fewer than 5 tickers: the mean of the order over time, in place of the IC.",
  ),
  order_t: s.maybeAbsent(),
});

/** The figures by which outputs are compared at the first close after their forecasts. */
export const laterFiguresSchema = s.named("LaterFigures", {
  delay: s.positive("Closes between the forecasts and the trade."),
  ic: s.maybe("Mean IC there; null with fewer than 5 tickers."),
  net_5bp: s.maybe(
    "Top fifth minus bottom fifth after costs of 5 basis points a side, in basis points a day.",
  ),
  net_low: s.maybeAbsent("Lower end of its 90 % band; null if it has no error."),
  net_high: s.maybeAbsent("Upper end of its 90 % band."),
});

export const EXPOSURES = ["beta_252", "volatility_63", "return_5", "return_21", "return_252"] as const;

const exposuresSchema = s.named("Exposures", {
  dates: s.count("Dates on which at least 12 tickers have a label and all exposures."),
  ic_mean: s.maybe("Mean IC over these dates."),
  ic_t: s.maybe(),
  residual: z
    .strictObject({ ic_mean: s.maybe(), ic_t: s.maybe() })
    .describe("Over the same dates, the IC of what the exposures together leave of the forecasts."),
  by_exposure: s.list(
    s.named("Exposure", {
      name: s.mayGrow(z.enum(EXPOSURES)),
      dates: s.count("Dates on which at least 5 tickers have a forecast and the exposure."),
      correlation_mean: s.maybe("Mean correlation of forecasts and exposure across the tickers of a date."),
      correlation_t: s.maybe(),
    }),
    "One entry per exposure.",
  ),
});

/** The table of the model's own forecasts. */
export const modelTableSchema = s.named("ModelTable", {
  ...metricsTableSchema.shape,
  by_delay: s.optionalList(
    delayedOrderSchema,
    "The order traded at the close that the labels assume and one and two closes later, of the forecasts whose order is judged: with shrinkage `pooled` the model's own.",
  ),
  exposures: s.optional(
    exposuresSchema,
    "What the models' forecasts have in common with prices; absent with fewer than 5 tickers.",
  ),
});

export const shrinkageSchema = s.named("Shrinkage", {
  n: s.count(),
  b: s.maybe("Slope of labels on forecasts, through 0: sum y p / sum p^2."),
  se: s.maybe("Standard error of b, robust to changing volatility."),
  s: s.number(
    "The share of the forecasts that the slope supports: max(0, min(1, b - se)), and for by_date its expected value.",
  ),
});

const levelsSchema = s.list(
  s.named("LevelSpan", { start: s.date(), level: z.number() }),
  "From each start on, until the next one; 0 before the first.",
);

const baselineSchema = s.named("BaselineTables", {
  score: metricsTableSchema,
  out_of_fold: metricsTableSchema.optional(),
});

/** What an output says about its forecasts; the tables of older outputs may lack the optional members. */
export const forecastTablesSchema = z.strictObject({
  score: modelTableSchema,
  out_of_fold: modelTableSchema.optional(),
  baselines: z.strictObject({ zero: baselineSchema, mean: baselineSchema }),
  shrinkage: s.optional(
    z.strictObject({
      pooled: shrinkageSchema,
      by_date: s.optional(
        shrinkageSchema,
        "The pooled slope with dates as units, of labels on forecasts above the level of their date, in units of each ticker's root mean square label. Its s, the factor of shrinkage `pooled`, is the mean of the slope given b, se and a prior.",
      ),
      by_ticker: byTicker(shrinkageSchema),
      applied: s.optional(
        byTicker(z.number()),
        "Factor of each ticker's forecasts; absent without shrinkage.",
      ),
      levels: s.optional(
        z.strictObject({ held_out: levelsSchema, score: levelsSchema }),
        "With target relative or rank: the common level of all tickers by date, a log-return, for the held-out rows and for the score rows. Shrinkage pooled publishes f = level + s (p - level) for a model's forecast p.",
      ),
    }),
    "Whether the model's own forecasts have the right size, on out-of-fold rows; for networks, on the calibration part, or else on the validation part.",
  ),
  intervals: s.nullable(
    z.strictObject({
      method: s.mayGrow(z.enum(INTERVAL_METHODS).meta({ id: "IntervalMethod" })).optional(),
      alpha: z.number(),
      bound: z.enum(INTERVAL_BOUNDS).meta({ id: "IntervalBound" }),
      constants: z
        .record(s.text(), z.number())
        .optional()
        .describe("Constants of the method; empty for split."),
      ...intervalTableSchema.shape,
      other_methods: s.optional(
        z.record(
          s.text(),
          z.strictObject({
            ...intervalTableSchema.shape,
            score_ratio: s.maybe(
              "Interval score of the configured method divided by that of this method, as the mean of the tickers' ratios.",
            ),
          }),
        ),
        "Results of the other methods on the same rows, by name.",
      ),
    }),
  ),
});

/** The member `permutation_importance` of an output of run_ml_job. Our addition. */
export const permutationImportanceSchema = s.named(
  "PermutationImportance",
  "run_ml_job with importance: how much order the out-of-fold forecasts lose if a group of features is shuffled.",
  {
    form: s.mayGrow(z.enum(["cross_section", "time_series"])),
    dates: s.count("Dates that count."),
    figure: s.maybe(
      "Mean RankIC of the out-of-fold forecasts, before shrinkage, over dates with at least 5 tickers; with fewer than 30 such dates, the order over time, as in `verdict`.",
    ),
    quantile: s.maybe(
      "The t that a single group exceeds by chance in 5 % of cases; null if there are too few dates.",
    ),
    method: testMethodSchema,
    groups: s.list(
      z.strictObject({
        features: z.array(s.text()).min(1).describe("Features that are shuffled together."),
        correlation: s.optionalNumber(
          "Mean absolute rank correlation between the two parts of the group that were merged last: below 0.7 only with more than 50 groups, or for a feature and its z-score. Absent for a single feature.",
        ),
        loss: s.maybe("`figure` minus the same with these features shuffled."),
        t: s.maybe("t of the loss over dates."),
      }),
      "Largest loss first.",
    ),
  },
);

export type OutputImportance = z.infer<typeof permutationImportanceSchema>;
export type Metrics = z.infer<typeof metricsSchema>;
export type CrossSection = z.infer<typeof crossSectionSchema>;
export type DelayedOrder = z.infer<typeof delayedOrderSchema>;
export type LaterFigures = z.infer<typeof laterFiguresSchema>;
export type ExposureTable = z.infer<typeof exposuresSchema>;
export type Shrinkage = z.infer<typeof shrinkageSchema>;
export type Coverage = z.infer<typeof coverageSchema>;
export type JointMisses = z.infer<typeof jointMissesSchema>;
export type IntervalEvidence = z.infer<typeof intervalEvidenceSchema>;
