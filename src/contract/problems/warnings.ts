import { z } from "zod";
import { mayGrow } from "../schema/open-schema.ts";

/** Every warning that a job can give: its cause, and what its reader can do. docs/warnings.md is generated from it. */
export const WARNING_TABLE = {
  nonpositive_price: {
    cause: "A price was zero or negative; that date counts as one without a price.",
    cure: "Correct the price at its source.",
  },
  long_gap: {
    cause: "Two price dates lie more than 10 calendar days apart; the first of them has no label.",
    cure: "Fill in the missing prices, or leave it: only those rows are lost.",
  },
  empty_feature: {
    cause: "A feature has no finite value on the dates to learn from and was left out for that ticker.",
    cure: "Give the feature values before the cut, or drop it from the feature blob.",
  },
  missing_features: {
    cause: "Rows with a missing or non-finite feature were left out; the costliest feature is named.",
    cure: "Warm-up rows of a feature are normal; otherwise fill or drop the feature that is named.",
  },
  no_prices: {
    cause: "The ticker is in the feature blob only.",
    cure: "Add its prices to the data-extraction blob, or drop its features.",
  },
  no_features: {
    cause: "The ticker is in the data-extraction blob only.",
    cure: "Add its features to the feature blob, or drop its prices.",
  },
  stale_ticker: {
    cause: "The ticker has no current forecast, so it has no mu; its earlier forecasts are kept.",
    cure: "Bring the blob that ends early for this ticker up to date.",
  },
  fewer_folds: {
    cause: "The history holds fewer walk-forward folds than asked.",
    cure: "Give a longer history, or lower n_splits or cv_test_size.",
  },
  threads_capped: {
    cause: "A thread count was replaced by 1, so that results do not depend on the machine.",
    cure: "Leave the argument out; mucast fits several models side by side instead.",
  },
  constant_predictions: {
    cause: "The model predicts one constant on the score rows: it learned nothing from the features.",
    cure: "Loosen the regularisation that the message names; a network may need another loss or learning_rate.",
  },
  not_converged: {
    cause: "The library stopped some fits at its largest number of iterations, before they had converged.",
    cure: "Raise max_iter or alpha, loosen tol, or set scaler.",
  },
  interval_unsupported: {
    cause:
      "There are too few residuals, out of fold or of the calibration part, for a finite interval at this alpha; its bounds are null.",
    cure: "Ask for the alpha that the message names, give a longer history, or for run_ml_job raise n_splits or cv_test_size.",
  },
  unknown_loss_type: {
    cause: "The loss is not known; mse was used.",
    cure: "Correct loss_type.",
  },
  disabled: {
    cause: "The job is switched off by its config; nothing was trained and mu is empty.",
    cure: "Set status to true.",
  },
  window_defaulted: {
    cause: "The window's start or end is missing; the first or last price date was used.",
    cure: "Write start and end into the data-extraction blob.",
  },
  ignored_section: {
    cause: "A section that belongs to another service was ignored.",
    cure: "Nothing, if that section is meant for another service.",
  },
  feature_absent: {
    cause: "A ticker lacks a feature that others have; it is 0 after scaling.",
    cure: "Give the ticker the feature, or drop it for all.",
  },
} as const;

type WarningCode = keyof typeof WARNING_TABLE;

export const warningSchema = z
  .strictObject({
    code: mayGrow(z.enum(Object.keys(WARNING_TABLE) as [WarningCode, ...WarningCode[]])),
    message: z.string(),
    ticker: z.string().optional(),
    count: z.int().nonnegative().optional(),
  })
  .meta({
    id: "Warning",
    description: "Something the reader of the forecasts should know; the job went on.",
  });

export type Warning = z.infer<typeof warningSchema>;
