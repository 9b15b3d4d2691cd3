import { z } from "zod";

/** Every warning a job can give, with its cause; docs/warnings.md adds the cure. */
export const WARNING_TABLE = {
  nonpositive_price: "A price was zero or negative and was treated as absent.",
  long_gap: "Two price dates lie more than 10 calendar days apart; the first has no label.",
  empty_feature: "A feature has no finite value on the candidate dates and was left out.",
  missing_features: "Rows with a missing or non-finite feature were left out.",
  no_prices: "The ticker is in the feature blob only.",
  no_features: "The ticker is in the data-extraction blob only.",
  stale_ticker: "The ticker has no current forecast, so it has no mu.",
  fewer_folds: "The history holds fewer walk-forward folds than asked.",
  threads_capped: "A thread count was replaced by 1, so that results do not depend on the machine.",
  constant_predictions: "The model predicts one constant on the score rows.",
  interval_unsupported: "There are too few residuals for a finite interval at this alpha.",
  unknown_loss_type: "The loss is not known; mse was used.",
  disabled: "The job is switched off by its config; nothing was trained.",
  window_defaulted: "The window's start or end is missing; the first or last price date was used.",
  ignored_section: "A section that belongs to another service was ignored.",
  feature_absent: "A ticker lacks a feature that others have; it is 0 after scaling.",
} as const;

export type WarningCode = keyof typeof WARNING_TABLE;

export const warningSchema = z
  .strictObject({
    code: z.enum(Object.keys(WARNING_TABLE) as [WarningCode, ...WarningCode[]]),
    message: z.string(),
    ticker: z.string().optional(),
    count: z.int().nonnegative().optional(),
  })
  .meta({
    id: "Warning",
    description: "Something the reader of the forecasts should know; the job went on.",
  });

export type Warning = z.infer<typeof warningSchema>;
