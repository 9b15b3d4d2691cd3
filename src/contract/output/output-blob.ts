import { z } from "zod";
import { failureSchema } from "../problems/problem.ts";
import { warningSchema } from "../problems/warnings.ts";
import * as s from "../schema/open-schema.ts";
import { choiceSchema } from "./choice.ts";
import {
  byTicker,
  forecastTablesSchema,
  metricsSchema,
  permutationImportanceSchema,
} from "./metrics-schemas.ts";
import { jobOperationSchema } from "./result-record.ts";
import { verdictSchema } from "./verdict.ts";

const forecastSchema = z.strictObject({
  dates: z.array(s.date()),
  predicted: s.list(
    z.number(),
    "Forecast of the next-day log-return, made at the close of the date. With window.delay, of the return that a trade that many closes later earns until the next close.",
  ),
  realised: z.array(s.maybe()),
  lower: z.array(s.maybe()),
  upper: z.array(s.maybe()),
  model: s.optionalList(
    z.number(),
    "The model's own forecasts, before shrinkage; present with shrinkage pooled if its factor is 0 for any score row of the job.",
  ),
});

const dateSpanSchema = s.named("DateSpan", { start: s.date(), end: s.date() });

const importanceSchema = s.named("Importance", { feature: s.text(), importance: z.number() });

const fitSchema = s.named("Fit", "What a ticker's model was fitted on.", {
  fit_rows: s.count(),
  features: s.count("Features with a value on the training dates."),
  label_mean: s.number("Mean label of the fit rows, as a log-return."),
  label_deviation: s.optionalNumber(
    "Standard deviation (ddof 0) of these labels, as a log-return; absent in outputs of 0.2.0.",
  ),
  importances: s.optionalList(
    importanceSchema,
    "Importances in the final fit, by the measure of its library: the 50 largest absolute values, in descending order.",
  ),
  splits: s.optional(
    z.strictObject({
      train: dateSpanSchema.nullable(),
      validate: dateSpanSchema.nullable(),
      calibrate: dateSpanSchema.nullable(),
    }),
    "run_dl_job: the first and last date of the ticker's windows in each part.",
  ),
});

const pooledFitSchema = s.named(
  "PooledFit",
  "run_ml_job with fit pooled: what the shared regressor was fitted on.",
  {
    fit_rows: s.count("Fit rows of all tickers."),
    features: s.count("Columns of the matrix: all features that any ticker has."),
    label_mean: s.number("Mean label of the fit rows of all tickers, as a log-return."),
    fold_rows: s.list(s.count(), "Training rows of each fold, over all tickers."),
    importances: fitSchema.shape.importances,
  },
);

const refitBlockSchema = s.named("RefitBlock", {
  start: s.date(),
  end: s.date("The last date with a score row."),
  fit_rows: s.count("Rows that its models learned from, over all tickers."),
  tickers: s.count("Tickers with a forecast in the block."),
  stand_ins: s.count("Tickers forecast by an earlier block's model because the fit for this block failed."),
  n: s.count("Score rows with a label."),
  r2_zero: s.maybe(),
  hit_rate: s.maybe(),
  dates: s.count("Dates with an IC."),
  ic_mean: s.maybe(),
  rank_ic_mean: s.maybe(),
});

const spreadImportancesSchema = s.optionalList(
  importanceSchema.extend({
    spread: s.optionalNumber(
      "Standard deviation (ddof 1) over the fits of all blocks; absent where one does not list the feature.",
    ),
  }),
);

const byBlock = z.array(s.maybe());

const blockTrainingSchema = z
  .strictObject({
    epochs: byBlock.describe("Epochs until training stopped."),
    best_epochs: byBlock.describe("The epoch whose weights forecast the block."),
    validation_losses: byBlock.describe("Validation loss after the best epoch."),
    zero_validation_losses: byBlock.describe("Validation loss of the zero forecast."),
    validation_ics: byBlock.optional().describe("With monitor ic: the validation IC after the best epoch."),
  })
  .describe(
    "By block, over an ensemble the mean of its members; null if no network was trained for the block, or its training failed.",
  );

const refitsSchema = s.named(
  "Refits",
  "With refit_every or window: the blocks of score rows, and the fits that forecast them.",
  {
    blocks: s.list(
      refitBlockSchema,
      "In time order; the models of the first block learned from the fit rows.",
    ),
    by_ticker: byTicker(
      z.strictObject({
        joins: s.optional(
          s.date(),
          "Of a ticker with too few fit rows at Learning_end: the first date of the block from which it has forecasts.",
        ),
        label_means: s.list(
          s.maybe(),
          "By block: the mean of the ticker's labels that its model learned from, as a log-return; null if the ticker has no row in the block.",
        ),
        factors: s.optionalList(
          s.maybe(),
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
    training: s.optional(
      byTicker(blockTrainingSchema),
      "Of run_dl_job: how the networks of each block were trained, by ticker or `portfolio`.",
    ),
  },
);

const foldSchema = z.strictObject({
  train_start: s.date(),
  train_end: s.date(),
  test_start: s.date(),
  test_end: s.date(),
  train_rows: s.count(),
  label_mean: s.optionalNumber(
    "Mean label of the training rows, as a log-return; absent in outputs of 0.2.0.",
  ),
  ...metricsSchema.shape,
});

const crossValidationSchema = z.strictObject({
  folds: z.array(foldSchema),
  dates: z.array(s.date()),
  predicted: z.array(z.number()),
  realised: z.array(z.number()),
  ...metricsSchema.shape,
});

const epochsSchema = z.array(
  z.strictObject({
    train_loss: z.number(),
    validation_loss: z.number(),
    validation_ic: s.optionalNumber(
      "With monitor ic: mean correlation between forecasts and targets across tickers, over the validation dates.",
    ),
  }),
);
const bestEpochSchema = s.positive(
  "Counted from 1. The forecasts use the average of the weights up to the end of this epoch.",
);
const predictionScaleSchema = s.optionalNumber(
  "Only with the loss directional: the factor of the network's raw predictions.",
);

const trainingSchema = z.strictObject({
  epochs: epochsSchema,
  best_epoch: bestEpochSchema,
  zero_validation_loss: s.optionalNumber(
    "Validation loss of the zero forecast; absent in outputs of older versions.",
  ),
  parameters: s.count("Number of parameters of the network."),
  prediction_scale: predictionScaleSchema,
  members: s.optionalList(
    z.strictObject({
      member: s.positive(),
      epochs: epochsSchema,
      best_epoch: bestEpochSchema,
      zero_validation_loss: z.number(),
      prediction_scale: predictionScaleSchema,
    }),
    "The networks of an ensemble from member 1 on; the members beside this one describe member 0.",
  ),
});

const blasSchema = z.strictObject({
  name: s.text(),
  version: s.textOrNull(),
  kernel: s.textOrNull("The processor that its kernels were written for, such as Haswell."),
});

/** The facts by which the libraries choose kernels, which determine the last digits. */
const machineSchema = s.named("Machine", {
  processor: s.text("Architecture, vendor, family and model: `x86_64 AuthenticAMD family 25 model 17`."),
  numpy_dispatch: s.list(s.text(), "Instruction sets beyond its baseline that NumPy chooses kernels for."),
  torch_capability: s.textOrNull(
    "Instruction set that PyTorch chooses kernels for; null if the job does not use PyTorch.",
  ),
  blas: z.record(s.text(), blasSchema).describe("The BLAS of numpy, and of scipy if the job uses it."),
});

const threadsSchema = z
  .record(s.text(), s.positive().nullable())
  .describe("Threads of one fit, by library, for each library that would otherwise start more.");

export const OUTPUT_SCHEMA_NAME = "mucast.forecast/1";

/** The blob that a job writes. The portfolio optimizer reads its `mu`. */
export const outputBlobSchema = s.titled("OutputBlob", "Output blob", {
  schema: z.literal(OUTPUT_SCHEMA_NAME),
  operation: jobOperationSchema,
  id: s.text(),
  created_at: z.iso.datetime(),
  machine: s.optional(
    s.nullable(machineSchema),
    "What the libraries ran on; null if none ran. Like id and created_at, it belongs to the run, not to the request.",
  ),
  window: s.named("Window", {
    start: s.date(),
    end: s.date(),
    learning_end: s.date().nullable(),
    as_of: s.date(),
    median_spacing_days: s.maybeAbsent(
      "Median number of calendar days from a row to the ticker's next price, over all fit rows: 1 with daily prices.",
    ),
    delay: s.optional(
      s.positive(),
      "The number of closes after its date at which the return of a forecast begins; it ends at the next close. Absent for 0: the return begins at the close of the date itself.",
    ),
  }),
  mu: byTicker(z.number()).describe(
    "Next-day log-return at as_of, by ticker. With window.delay, the return that a trade that many closes after as_of earns until the next close.",
  ),
  mu_model: s.optional(
    byTicker(z.number()),
    "The model's own mu, before shrinkage, of the tickers whose forecasts have `model`.",
  ),
  mu_dates: byTicker(s.date()).optional().describe("Date of the row behind mu, by ticker."),
  mu_spread: s.optional(
    byTicker(z.number()),
    "For an ensemble, by ticker of mu: standard deviation (ddof 1) of the members' mu, as a log-return. It shows how much the seed matters, not how far off mu may be.",
  ),
  verdict: s.optional(
    verdictSchema,
    "What the forecasts are worth; absent if there is no ticker, and in outputs of older versions.",
  ),
  forecasts: byTicker(forecastSchema),
  fits: byTicker(fitSchema).optional(),
  pooled: pooledFitSchema.optional(),
  refits: refitsSchema.optional(),
  choice: choiceSchema.optional(),
  permutation_importance: permutationImportanceSchema.optional(),
  cross_validation: byTicker(crossValidationSchema).optional(),
  training: byTicker(trainingSchema).optional(),
  metrics: forecastTablesSchema,
  model: z.looseObject({}).describe("The resolved configuration, with every default filled in."),
  warnings: z.array(warningSchema),
  failures: z.array(failureSchema),
  tags: s.optionalList(s.text(), "The tags of the payload, in its order; absent if it has none."),
  provenance: z.strictObject({
    feature_url: s.text(),
    data_extractor_url: s.text(),
    feature_sha256: s.digest(),
    data_extractor_sha256: s.digest(),
    requested_window: s.optional(
      z.strictObject({
        start: s.textOrNull(),
        end: s.textOrNull(),
        learning_end: s.textOrNull(),
      }),
      "The bounds of the window that the payload gave; absent if it gave none.",
    ),
    config: s.optional(
      s.textOrNull(),
      "The JSON text of the config's section `ML params` or `NN params`, as the caller wrote it; null if it contains a signed URL.",
    ),
    config_sha256: s.digest(),
    versions: z.record(s.text(), s.text()),
    commit: s.optional(
      z.string().regex(/^([0-9a-f]{40}|[0-9a-f]{64})(-dirty)?$/),
      "The commit of mucast, with -dirty if it was built with changes that were not committed; absent if it is unknown.",
    ),
    lock_sha256: s.optional(
      s.nullable(z.string().regex(/^[0-9a-f]{64}$/)),
      "SHA-256 of the lock file of the Python environment; null if MUCAST_PYTHON names the interpreter.",
    ),
    seed: z.unknown(),
    threads_per_fit: s.positive(),
    threads: threadsSchema.nullable().optional(),
    kernel_level: s.optional(
      s.textOrNull(),
      "Processor level that the kernels were pinned to, such as x86-64-v3; null if they were not pinned.",
    ),
    device: s.text(),
  }),
});

export type Machine = z.infer<typeof machineSchema>;
export type Threads = z.infer<typeof threadsSchema>;
export type OutputBlob = z.infer<typeof outputBlobSchema>;
