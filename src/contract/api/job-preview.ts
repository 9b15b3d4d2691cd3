import { z } from "zod";
import { outputBlobSchema } from "../output/output-blob.ts";
import { codeCountsSchema, failureSchema } from "../problems/problem.ts";
import { warningSchema } from "../problems/warnings.ts";
import { count, date, list, named, text } from "../schema/open-schema.ts";

const tickerPreviewSchema = named("TickerPreview", {
  ticker: text,
  features: count,
  fit_rows: count,
  score_rows: count,
  folds: count.optional().describe("run_ml_job: walk-forward folds."),
  windows: z
    .strictObject({ train: count, validate: count, calibrate: count, score: count })
    .optional()
    .describe("run_dl_job: windows of each part."),
  first_fit: date,
  last_fit: date,
  mu: z.boolean().describe("Whether the ticker would have a current forecast."),
});

const pooledPreviewSchema = named("PooledPreview", "One regressor for all tickers.", {
  rows: count.describe("Rows that some fit learns from, and score rows."),
  fit_rows: count,
  columns: count,
  bytes: count.describe("Size of the matrix in the work folder."),
  fit_bytes: z.number().describe("Estimated memory that the largest fit needs in addition."),
  folds: count,
});

const refitsPreviewSchema = named("RefitsPreview", "With refit_every or window.", {
  fits: count.describe(
    "Number of fits, including those of folds, or of networks, including those of ensembles.",
  ),
  blocks: count,
  fit_bytes: z
    .number()
    .optional()
    .describe("run_dl_job: estimated bytes of the data that the largest network reads."),
});

const costEstimateSchema = named("CostEstimate", "Rough: from measured times for rows and columns.", {
  seconds: z.number().describe("Processor time of all fits, without reading."),
  matrix_bytes: z.number().describe("Size of the largest matrix that a fit reads."),
});

export const jobPreviewSchema = named(
  "JobPreview",
  "What a job would do, without training. Counts are rows.",
  {
    model: z.strictObject({ name: text, params: z.unknown() }),
    window: outputBlobSchema.shape.window,
    tickers: list(tickerPreviewSchema).describe("Those that would be fitted. A service lists up to 2 MiB."),
    ticker_count: count.optional().describe("From a service: the number of all of them."),
    failures: list(failureSchema).describe("Tickers that would fail. A service lists the first 200."),
    failure_counts: codeCountsSchema.optional().describe("From a service: the number of all by code."),
    pooled: pooledPreviewSchema.optional(),
    refits: refitsPreviewSchema.optional(),
    choice: z
      .strictObject({ candidates: count, fits: count })
      .optional()
      .describe("Fits, or networks, over all candidates and tickers."),
    estimate: costEstimateSchema
      .optional()
      .describe("Absent if the config is switched off, so that nothing would be trained."),
    warnings: list(warningSchema).describe("Known before training. A service lists the first 200."),
    warning_counts: codeCountsSchema.optional().describe("From a service: the number of all by code."),
  },
);

export type JobPreview = z.infer<typeof jobPreviewSchema>;
export type TickerPreview = z.infer<typeof tickerPreviewSchema>;
export type PooledPreview = z.infer<typeof pooledPreviewSchema>;
export type RefitsPreview = z.infer<typeof refitsPreviewSchema>;
export type CostEstimate = z.infer<typeof costEstimateSchema>;
