import { z } from "zod";
import { mayGrow } from "../schema/open-schema.ts";

/** Every warning that a job can give: its cause, and what its reader can do. docs/warnings.md is generated from it. */
export const WARNING_TABLE = {
  nonpositive_price: {
    cause: "A price was zero or negative; that date counts as one without a price.",
    cure: "Correct the price at its source.",
  },
  long_gap: {
    cause:
      "Two price dates lie more than 10 calendar days apart; the first of them has no label. The message says how many of a ticker's dates are lost.",
    cure: "Fill in the missing prices. If few dates are lost, leave it: only those rows are missing.",
  },
  empty_feature: {
    cause: "A feature has no finite value on the dates to learn from and was left out for that ticker.",
    cure: "Give the feature values before the cut, or drop it from the feature blob.",
  },
  missing_features: {
    cause: "Rows with a missing or non-finite feature were left out; the costliest feature is named.",
    cure: "Fill or drop the feature that is named.",
  },
  warm_up_rows: {
    cause:
      "Rows at the start of tickers were left out: what they lack, they lack from the first row on, as a feature does that waits for its window.",
    cure: "Nothing, if the window is that long; otherwise give the feature that is named from an earlier date on, or drop it.",
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
  older_forecast: {
    cause:
      "The mu of the tickers listed is a forecast of an earlier date than as_of: their prices end before those of others.",
    cure: "Bring their prices and features up to date; mu_dates has the date of each.",
  },
  not_daily: {
    cause:
      "The median label of the tickers listed spans 2 calendar days or more, as of weekly prices, in the fit rows or in the last 11 rows before mu: mu is a return over such a span, or comes from a model that learned such returns.",
    cure: "Give daily prices, or read mu as a return to the next price and not to the next day. If the message gives two spacings for a ticker, start the window where its spacing changed.",
  },
  few_rows: {
    cause:
      "The tickers listed have fewer than 5 fit rows a feature, or a third of their out-of-fold rows or more come from folds that train on fewer: the model fits noise.",
    cure: "Give a longer history or fewer features; for the folds alone, lower n_splits or cv_test_size.",
  },
  unscaled_features: {
    cause:
      "ridge, lasso or elastic_net without a scaler on features whose deviations differ more than tenfold: the penalty picks features by their units.",
    cure: "Set scaler to standard.",
  },
  chosen_early: {
    cause:
      "The networks listed were best after their first epoch: what they learned later did not hold on the validation part.",
    cure: "Lower learning_rate or the size of the network; where nothing helps, the features hold no signal for it.",
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
  no_skill: {
    cause:
      "The verdict finds no skill on rows that the models did not learn from: neither an order (mean IC) nor sizes (Clark-West) beyond chance, or fewer than 30 dates. It judges the score rows from 250 dates on, else the out-of-fold rows; of networks the calibration part, or without intervals the validation part.",
    cure: "Do not trade on mu. Try other features or a simpler model. Give networks intervals: without them the rows that judge them chose their epochs, and the warning stays away too easily.",
  },
  oversized: {
    cause:
      "The forecasts hold skill, but as sizes of returns they are too large: their squared error is above that of the zero forecast.",
    cure: "Rank by mu, or set shrinkage to pooled, which multiplies every forecast by one factor and keeps their order.",
  },
  wild_forecast: {
    cause:
      "Forecasts of some tickers are far larger than their returns warrant: out of sample, on the score rows, or in mu.",
    cure: "Regularise the model, scale the features and look for outliers among them, or set shrinkage to own.",
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
    cause:
      "A ticker lacks a feature that others have. A joint network sees 0 after scaling, a pooled fit the mean of the tickers that have it.",
    cure: "Give the ticker the feature, or drop it for all.",
  },
  failed_refit: {
    cause:
      "With refit_every, the library failed to fit some models again. The model before each forecasts those rows.",
    cure: "Read the library's error in the message. If it speaks of too few or equal labels, raise refit_every or window.",
  },
  no_refit: {
    cause: "refit_every changes nothing: all score rows lie in its first block of dates.",
    cure: "Lower refit_every, or set an earlier Learning_end. A job without Learning_end forecasts one date with a fresh model and needs no refit.",
  },
  thin_dates: {
    cause:
      "On some dates fewer than 5 tickers can be compared: with target relative their labels teach nothing, with cross_section their rows are left out.",
    cure: "Nothing, if those dates are few. Otherwise give more tickers, or start the window later.",
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
