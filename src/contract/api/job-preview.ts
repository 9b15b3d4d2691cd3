import { z } from "zod";
import { outputBlobSchema } from "../output/output-blob.ts";
import { codeCountsSchema, failureSchema } from "../problems/problem.ts";
import { warningSchema } from "../problems/warnings.ts";
import * as s from "../schema/open-schema.ts";

const tickerPreviewSchema = s.named("TickerPreview", {
  ticker: s.text(),
  features: s.count(),
  fit_rows: s.count(),
  score_rows: s.count(),
  folds: s.count().optional().describe("run_ml_job: walk-forward folds."),
  windows: s.optional(
    z.strictObject({ train: s.count(), validate: s.count(), calibrate: s.count(), score: s.count() }),
    "run_dl_job: windows of each part.",
  ),
  first_fit: s.date(),
  last_fit: s.date(),
  mu: s.flag("Whether the ticker would have a current forecast."),
});

const pooledPreviewSchema = s.named("PooledPreview", "One regressor for all tickers.", {
  rows: s.count("Rows that some fit learns from, and score rows."),
  fit_rows: s.count(),
  columns: s.count(),
  bytes: s.count("Size of the matrix in the work folder."),
  fit_bytes: s.number("Estimated memory that the largest fit needs in addition."),
  folds: s.count(),
});

const refitsPreviewSchema = s.named("RefitsPreview", "With refit_every or window.", {
  fits: s.count("Models to train: regressors with each fold, or each network of an ensemble."),
  blocks: s.count(),
  fit_bytes: s.optional(
    z.number(),
    "run_dl_job: estimated bytes of the data that the largest network reads.",
  ),
});

const costEstimateSchema = s.named("CostEstimate", "Rough: from measured times for rows and columns.", {
  seconds: s.number("Processor time of all fits, without reading."),
  matrix_bytes: s.number("Size of the largest matrix that a fit reads."),
});

export const jobPreviewSchema = s.named(
  "JobPreview",
  "What a job would do, without training. Counts are rows.",
  {
    model: z.strictObject({ name: s.text(), params: z.unknown() }),
    window: outputBlobSchema.shape.window,
    tickers: s.list(tickerPreviewSchema, "Those that would be fitted. A service lists up to 2 MiB."),
    ticker_count: s.count().optional().describe("From a service: the number of all of them."),
    failures: s.list(failureSchema, "Tickers that would fail. A service lists the first 200."),
    failure_counts: codeCountsSchema.optional().describe("From a service: the number of all by code."),
    pooled: pooledPreviewSchema.optional(),
    refits: refitsPreviewSchema.optional(),
    choice: s.optional(
      z.strictObject({ candidates: s.count(), fits: s.count() }),
      "Fits, or networks, over all candidates and tickers.",
    ),
    estimate: s.optional(
      costEstimateSchema,
      "Absent if the config is switched off, so that nothing would be trained.",
    ),
    warnings: s.list(warningSchema, "Known before training. A service lists the first 200."),
    warning_counts: codeCountsSchema.optional().describe("From a service: the number of all by code."),
  },
);

export type JobPreview = z.infer<typeof jobPreviewSchema>;
export type TickerPreview = z.infer<typeof tickerPreviewSchema>;
export type PooledPreview = z.infer<typeof pooledPreviewSchema>;
export type RefitsPreview = z.infer<typeof refitsPreviewSchema>;
export type CostEstimate = z.infer<typeof costEstimateSchema>;
