import { z } from "zod";
import { INTERVAL_BOUNDS, INTERVAL_METHODS } from "../config/intervals.ts";
import { failureSchema } from "../problems/failures.ts";
import { warningSchema } from "../problems/warnings.ts";
import { mayGrow } from "../schema/open-schema.ts";
import { jobOperationSchema } from "./operation-schemas.ts";
import { verdictSchema } from "./verdict.ts";

const date = z.string().regex(/^\d{4}-\d{2}-\d{2}$/);
const count = z.int().nonnegative();
const maybe = z.number().nullable();
const byTicker = <T extends z.ZodType>(value: T) => z.record(z.string(), value);

/** Forecast quality over n rows. A metric that is undefined is null. */
export const metricsSchema = z
  .strictObject({
    n: count,
    rmse: maybe.describe("Root mean squared error, log-return."),
    mae: maybe.describe("Mean absolute error, log-return."),
    hit_rate: maybe.describe(
      "Share of rows with the right sign, over rows where neither label nor forecast is 0.",
    ),
    up_share: maybe.optional().describe("Share of those rows with a return above 0."),
    hit_rate_se: maybe
      .optional()
      .describe("Binomial standard error of the hit rate, as if rows were independent."),
    r2_zero: maybe.describe("1 - SSE / sum y^2: against the zero forecast."),
    r2_mean: maybe.describe("1 - SSE / sum (y - mean of the training labels)^2."),
    correlation: maybe.describe("Pearson correlation of labels and forecasts."),
  })
  .meta({ id: "Metrics" });

/** Information coefficients: correlation across tickers on each date with at least 3 of them. */
export const crossSectionSchema = z
  .strictObject({
    dates: count,
    mean_tickers: maybe.optional().describe("Mean number of tickers per date."),
    ic_mean: maybe,
    ic_std: maybe,
    icir: maybe,
    ic_t: maybe,
    ic_t_newey_west: maybe.optional().describe("Allows for correlation over time, up to a lag of 5 dates."),
    rank_ic_mean: maybe,
    rank_ic_std: maybe,
    rank_icir: maybe,
    rank_ic_t: maybe,
  })
  .meta({ id: "CrossSection" });

/** Realised coverage of intervals over n rows that have labels and ends. */
export const coverageSchema = z
  .strictObject({
    n: count,
    coverage: maybe,
    mean_width: maybe.describe("Log-return; null for one-sided intervals."),
    interval_score: maybe
      .optional()
      .describe("Winkler score: the width plus 2 / alpha times the distance of a miss. Lower is better."),
  })
  .meta({ id: "Coverage" });

const prequentialCoverageSchema = z
  .strictObject({ n: count, coverage: maybe })
  .describe(
    "Coverage of residuals by intervals made from earlier residuals: evidence before any label of a score row is known.",
  );

/** Outputs of versions before 0.2 have none of the optional members. */
export const intervalEvidenceSchema = z
  .strictObject({
    ...coverageSchema.shape,
    by_year: z.record(z.string(), coverageSchema).optional().describe("By calendar year of the row."),
    high_volatility: coverageSchema
      .optional()
      .describe(
        "Over the tenth of each ticker's labelled rows with the largest standard deviation of the last 20 known returns.",
      ),
    worst_250: maybe.optional().describe("The lowest coverage of 250 successive rows of one ticker."),
    prequential: prequentialCoverageSchema.nullable().optional(),
  })
  .meta({ id: "IntervalEvidence" });

const jointMissesSchema = z
  .strictObject({
    dates: count.describe("Dates on which at least five tickers have a label and ends."),
    half_missed: count.describe("Number of those dates on which at least half of these tickers missed."),
  })
  .meta({ id: "JointMisses" });

const intervalTableSchema = z
  .strictObject({
    pooled: intervalEvidenceSchema,
    by_volatility: z
      .array(coverageSchema)
      .optional()
      .describe(
        "Over all tickers, ten entries: tenths of each ticker's labelled rows by the standard deviation of the last 20 known returns, the quietest first.",
      ),
    joint_misses: jointMissesSchema.optional(),
    by_ticker: byTicker(intervalEvidenceSchema),
  })
  .meta({ id: "IntervalTable" });

export const metricsTableSchema = z
  .strictObject({
    pooled: metricsSchema,
    by_ticker: byTicker(metricsSchema),
    cross_section: crossSectionSchema,
    r2_zero_median: maybe.optional().describe("The median of the tickers' r2_zero."),
  })
  .meta({ id: "MetricsTable" });

export const shrinkageSchema = z
  .strictObject({
    n: count,
    b: maybe.describe("Slope of labels on forecasts, through 0: sum y p / sum p^2."),
    se: maybe.describe("Standard error of b, robust to changing volatility."),
    s: z.number().describe("max(0, min(1, b - se)); 0 if all forecasts are 0."),
  })
  .meta({ id: "Shrinkage" });

const baselineSchema = z
  .strictObject({
    score: metricsTableSchema,
    out_of_fold: metricsTableSchema.optional(),
  })
  .meta({ id: "BaselineTables" });

const forecastSchema = z.strictObject({
  dates: z.array(date),
  predicted: z
    .array(z.number())
    .describe("Forecast of the next-day log-return, made at the close of the date."),
  realised: z.array(maybe),
  lower: z.array(maybe),
  upper: z.array(maybe),
});

const dateSpanSchema = z.strictObject({ start: date, end: date }).meta({ id: "DateSpan" });

const importanceSchema = z
  .strictObject({ feature: z.string(), importance: z.number() })
  .meta({ id: "Importance" });

const fitSchema = z
  .strictObject({
    fit_rows: count,
    features: count.describe("Features with a value on the training dates."),
    label_mean: z.number().describe("Mean label of the fit rows, as a log-return."),
    importances: z
      .array(importanceSchema)
      .optional()
      .describe(
        "Importances in the final fit, by the measure of its library: the 50 largest absolute values, in descending order.",
      ),
    splits: z
      .strictObject({
        train: dateSpanSchema.nullable(),
        validate: dateSpanSchema.nullable(),
        calibrate: dateSpanSchema.nullable(),
      })
      .optional()
      .describe("run_dl_job: the first and last date of the ticker's windows in each part."),
  })
  .meta({ id: "Fit", description: "What a ticker's model was fitted on." });

const pooledFitSchema = z
  .strictObject({
    fit_rows: count.describe("Fit rows of all tickers."),
    features: count.describe("Columns of the matrix: all features that any ticker has."),
    label_mean: z.number().describe("Mean label of the fit rows of all tickers, as a log-return."),
    fold_rows: z.array(count).describe("Training rows of each fold, over all tickers."),
    importances: fitSchema.shape.importances,
  })
  .meta({
    id: "PooledFit",
    description: "run_ml_job with fit pooled: what the shared regressor was fitted on.",
  });

const refitBlockSchema = z
  .strictObject({
    start: date,
    end: date.describe("The last date with a score row."),
    fit_rows: count.describe("Rows that its models learned from, over all tickers."),
    tickers: count.describe("Tickers with a forecast in the block."),
    stand_ins: count.describe(
      "Tickers forecast by an earlier block's model because the fit for this block failed.",
    ),
    n: count.describe("Score rows with a label."),
    r2_zero: maybe,
    hit_rate: maybe,
    dates: count.describe("Dates with an IC."),
    ic_mean: maybe,
    rank_ic_mean: maybe,
  })
  .meta({ id: "RefitBlock" });

const spreadImportancesSchema = z
  .array(
    importanceSchema.extend({
      spread: z
        .number()
        .optional()
        .describe(
          "Standard deviation (ddof 1) over the fits of all blocks; absent where one does not list the feature.",
        ),
    }),
  )
  .optional();

const refitsSchema = z
  .strictObject({
    blocks: z
      .array(refitBlockSchema)
      .describe("In time order; the models of the first block learned from the fit rows."),
    by_ticker: byTicker(
      z.strictObject({
        joins: date
          .optional()
          .describe(
            "Of a ticker with too few fit rows at Learning_end: the first date of the block from which it has forecasts.",
          ),
        label_means: z
          .array(maybe)
          .describe(
            "By block: the mean of the ticker's labels that its model learned from, as a log-return; null if the ticker has no row in the block.",
          ),
        factors: z
          .array(maybe)
          .optional()
          .describe(
            "By block: the factor of shrinkage for the ticker's forecasts; absent without shrinkage.",
          ),
        importances: spreadImportancesSchema.describe(
          "Importances in the ticker's last fit; absent with fit pooled.",
        ),
      }),
    ),
    importances: spreadImportancesSchema.describe(
      "With fit pooled: importances in the last fit, as in `pooled`.",
    ),
  })
  .meta({
    id: "Refits",
    description: "With refit_every or window: the blocks of score rows, and the fits that forecast them.",
  });

const foldSchema = z.strictObject({
  train_start: date,
  train_end: date,
  test_start: date,
  test_end: date,
  train_rows: count,
  ...metricsSchema.shape,
});

const crossValidationSchema = z.strictObject({
  folds: z.array(foldSchema),
  dates: z.array(date),
  predicted: z.array(z.number()),
  realised: z.array(z.number()),
  ...metricsSchema.shape,
});

const epochsSchema = z.array(
  z.strictObject({
    train_loss: z.number(),
    validation_loss: z.number(),
    validation_ic: z
      .number()
      .optional()
      .describe(
        "With monitor ic: mean correlation between forecasts and targets across tickers, over the validation dates.",
      ),
  }),
);
const bestEpochSchema = z
  .int()
  .positive()
  .describe("Counted from 1. The forecasts use the average of the weights up to the end of this epoch.");
const predictionScaleSchema = z
  .number()
  .optional()
  .describe("Only with the loss directional: the factor of the network's raw predictions.");

const trainingSchema = z.strictObject({
  epochs: epochsSchema,
  best_epoch: bestEpochSchema,
  zero_validation_loss: z
    .number()
    .optional()
    .describe("Validation loss of the zero forecast; absent in outputs of older versions."),
  parameters: count.describe("Number of parameters of the network."),
  prediction_scale: predictionScaleSchema,
  members: z
    .array(
      z.strictObject({
        member: z.int().positive(),
        epochs: epochsSchema,
        best_epoch: bestEpochSchema,
        zero_validation_loss: z.number(),
        prediction_scale: predictionScaleSchema,
      }),
    )
    .optional()
    .describe("The networks of an ensemble from member 1 on; the members beside this one describe member 0."),
});

const blasSchema = z.strictObject({
  name: z.string(),
  version: z.string().nullable(),
  kernel: z.string().nullable().describe("The processor that its kernels were written for, such as Haswell."),
});

/** The facts by which the libraries choose kernels, which determine the last digits. */
export const machineSchema = z
  .strictObject({
    processor: z
      .string()
      .describe("Architecture, vendor, family and model: `x86_64 AuthenticAMD family 25 model 17`."),
    numpy_dispatch: z
      .array(z.string())
      .describe("Instruction sets beyond its baseline that NumPy chooses kernels for."),
    torch_capability: z
      .string()
      .nullable()
      .describe("Instruction set that PyTorch chooses kernels for; null if the job does not use PyTorch."),
    blas: z.record(z.string(), blasSchema).describe("The BLAS of numpy, and of scipy if the job uses it."),
  })
  .meta({ id: "Machine" });

const threadsSchema = z
  .record(z.string(), z.int().positive().nullable())
  .describe("Threads of one fit, by library, for each library that would otherwise start more.");

export const OUTPUT_SCHEMA_NAME = "mucast.forecast/1";

/** The blob that a job writes. The portfolio optimizer reads its `mu`. */
export const outputBlobSchema = z
  .strictObject({
    schema: z.literal(OUTPUT_SCHEMA_NAME),
    operation: jobOperationSchema,
    id: z.string(),
    created_at: z.iso.datetime(),
    machine: machineSchema
      .nullable()
      .optional()
      .describe(
        "What the libraries ran on; null if none ran. Like id and created_at, it belongs to the run, not to the request.",
      ),
    window: z.strictObject({
      start: date,
      end: date,
      learning_end: date.nullable(),
      as_of: date,
      median_spacing_days: maybe
        .optional()
        .describe(
          "Median number of calendar days from a row to its label date, over all fit rows: 1 with daily prices.",
        ),
    }),
    mu: byTicker(z.number()).describe("Next-day log-return at as_of, by ticker."),
    mu_dates: byTicker(date).optional().describe("Date of the row behind mu, by ticker."),
    mu_spread: byTicker(z.number())
      .optional()
      .describe(
        "For an ensemble, by ticker of mu: standard deviation (ddof 1) of the members' mu, as a log-return. It shows how much the seed matters, not how far off mu may be.",
      ),
    verdict: verdictSchema
      .optional()
      .describe(
        "What the forecasts are worth; absent if there is no ticker, and in outputs of older versions.",
      ),
    forecasts: byTicker(forecastSchema),
    fits: byTicker(fitSchema).optional(),
    pooled: pooledFitSchema.optional(),
    refits: refitsSchema.optional(),
    cross_validation: byTicker(crossValidationSchema).optional(),
    training: byTicker(trainingSchema).optional(),
    metrics: z.strictObject({
      score: metricsTableSchema,
      out_of_fold: metricsTableSchema.optional(),
      baselines: z.strictObject({ zero: baselineSchema, mean: baselineSchema }),
      shrinkage: z
        .strictObject({
          pooled: shrinkageSchema,
          by_date: shrinkageSchema
            .optional()
            .describe(
              "The pooled slope with dates as units, and labels and forecasts in units of each ticker's root mean square label; se is by Newey and West. Its s is the factor of shrinkage `pooled`.",
            ),
          by_ticker: byTicker(shrinkageSchema),
          applied: byTicker(z.number())
            .optional()
            .describe("Factor of each ticker's forecasts; absent without shrinkage."),
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
          constants: z
            .record(z.string(), z.number())
            .optional()
            .describe("Constants of the method; empty for split."),
          ...intervalTableSchema.shape,
          other_methods: z
            .record(
              z.string(),
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
    }),
    model: z.looseObject({}).describe("The resolved configuration, with every default filled in."),
    warnings: z.array(warningSchema),
    failures: z.array(failureSchema),
    provenance: z.strictObject({
      feature_url: z.string(),
      data_extractor_url: z.string(),
      feature_sha256: z.string().regex(/^[0-9a-f]{64}$/),
      data_extractor_sha256: z.string().regex(/^[0-9a-f]{64}$/),
      config: z
        .string()
        .nullable()
        .optional()
        .describe(
          "The JSON text of the config's section `ML params` or `NN params`, as the caller wrote it; null if it contains a signed URL.",
        ),
      config_sha256: z.string().regex(/^[0-9a-f]{64}$/),
      versions: z.record(z.string(), z.string()),
      lock_sha256: z
        .string()
        .regex(/^[0-9a-f]{64}$/)
        .nullable()
        .optional()
        .describe(
          "SHA-256 of the lock file of the Python environment; null if MUCAST_PYTHON names the interpreter.",
        ),
      seed: z.unknown(),
      threads_per_fit: z.int().positive(),
      threads: threadsSchema.nullable().optional(),
      kernel_level: z
        .string()
        .nullable()
        .optional()
        .describe(
          "Processor level that the kernels were pinned to, such as x86-64-v3; null if they were not pinned.",
        ),
      device: z.string(),
    }),
  })
  .meta({ id: "OutputBlob", title: "Output blob" });

export type Metrics = z.infer<typeof metricsSchema>;
export type CrossSection = z.infer<typeof crossSectionSchema>;
export type Coverage = z.infer<typeof coverageSchema>;
export type JointMisses = z.infer<typeof jointMissesSchema>;
export type PrequentialCoverage = z.infer<typeof prequentialCoverageSchema>;
export type IntervalEvidence = z.infer<typeof intervalEvidenceSchema>;
export type Machine = z.infer<typeof machineSchema>;
export type Threads = z.infer<typeof threadsSchema>;
export type OutputBlob = z.infer<typeof outputBlobSchema>;
