import { z } from "zod";
import * as s from "../schema/open-schema.ts";

interface WarningEntry {
  readonly cause: string;
  readonly cure: string;
  /** The output lists the warning, and nothing else shows or counts it. */
  readonly isNote?: true;
}

function row(cause: string, cure: string, isNote = false): WarningEntry {
  return { cause, cure, ...(isNote && { isNote }) };
}

/** Every warning that a job can give: its cause, and what its reader can do. docs/warnings.md is generated from it. */
export const WARNING_TABLE = {
  nonpositive_price: row(
    "A price is zero or negative. The job treats that date as a date without a price.",
    "Correct the price at its source.",
  ),
  suspicious_price: row(
    "Prices of the ticker jump by n:1 or revert after a jump, at least 15 in a row are equal, or weekends repeat the price before. The message has the dates of the worst.",
    "Provide adjusted prices in one unit, on trading days only. If the company really moved so, do nothing.",
  ),
  long_gap: row(
    "Two successive price dates are more than 10 calendar days apart, so the first one has no label, and with delay neither have the dates before it whose label spans the gap. The message says how many dates of the ticker are lost and which gap is the largest.",
    "Fill in the missing prices, or correct a mistyped date. If only a few dates are lost, you can ignore this: only those rows are missing.",
  ),
  empty_feature: row(
    "A feature has no finite value on the training dates, so the job excludes it for that ticker.",
    "Provide values of the feature before the cut, or remove the feature from the feature blob.",
  ),
  missing_features: row(
    "The job excludes rows with a missing or non-finite feature. The message names the feature that costs the most rows.",
    "Fill in or remove the named feature.",
  ),
  warm_up_rows: row(
    "The job excludes rows at the start of tickers where a feature has no value yet, for example because its window is not full. This is a note: only the output lists it.",
    "If the window is that long, do nothing. Otherwise provide earlier values of the named feature, or remove it.",
    true,
  ),
  no_prices: row(
    "The ticker is in the feature blob only.",
    "Add its prices to the data-extraction blob, or remove its features.",
  ),
  no_features: row(
    "The ticker is in the data-extraction blob only.",
    "Add its features to the feature blob, or remove its prices.",
  ),
  stale_ticker: row(
    "The ticker has no current forecast, so it has no mu. The output keeps its earlier forecasts.",
    "Update the blob that ends early for this ticker.",
  ),
  older_forecast: row(
    "The mu of the listed tickers is a forecast from a date before as_of, because their prices end earlier than those of other tickers.",
    "Update their prices and features. mu_dates gives the date of each forecast.",
  ),
  unpriced_dates: row(
    "More than a tenth of the feature dates of the listed tickers, between the first and the last price, have no price of any ticker. The features may be dated a day early or late. The verdict's sentence says so too.",
    "Give features the date at whose close they are known. If they have values on days without trading, such as Sundays, remove those rows.",
  ),
  not_daily: row(
    "The median distance between prices of the listed tickers is 2 calendar days or more, for example because prices are weekly. This is so in the fit rows or in the last 11 rows before mu, so mu is a return over such a span, or comes from a model that learned such returns.",
    "Provide daily prices, or read mu as the return to the next price instead of the next day. If the message gives two spacings for a ticker, start the window where the spacing changes.",
  ),
  few_rows: row(
    "The listed tickers have fewer than 5 fit rows per feature, or at least a third of their out-of-fold rows come from folds with fewer than 5 training rows per feature. The model fits noise.",
    "Provide a longer history or fewer features. If only the folds are too short, lower n_splits or cv_test_size.",
  ),
  unscaled_features: row(
    "ridge, lasso or elastic_net runs without a scaler on features whose standard deviations differ more than tenfold. The penalty then favours features by their units.",
    "Set scaler to standard.",
  ),
  uncoded_categories: row(
    "categorical_feature of lightgbm names features with fractions or negative values on the fit rows, or a scaler changes them. lightgbm cuts fractions off and takes negative codes for missing values.",
    "Code the categories as 0, 1, 2, …, remove them from categorical_feature, or set scaler to none.",
  ),
  chosen_early: row(
    "The listed networks were best after their first epoch: the validation part shows no gain from later epochs.",
    "Lower learning_rate or make the network smaller. If nothing helps, the features contain no signal for the network.",
  ),
  fewer_folds: row(
    "The history is too short for the requested number of walk-forward folds.",
    "Provide a longer history, or lower n_splits or cv_test_size.",
  ),
  threads_capped: row(
    "The job replaced a thread count by 1, so that results do not depend on the machine.",
    "Remove the argument. mucast fits several models in parallel instead.",
  ),
  constant_predictions: row(
    "The model predicts one constant on all score rows: it learned nothing from the features.",
    "Reduce the regularisation that the message names. A network may need a different loss or learning_rate.",
  ),
  no_skill: row(
    "The verdict finds no skill on rows that the models did not learn from: neither the order (mean IC) nor the sizes (Clark-West) beat chance, or there are fewer than 30 dates. The verdict uses the score rows if they have at least 250 dates, and otherwise the out-of-fold rows. For networks, it uses the calibration part instead of the out-of-fold rows, or the validation part if there are no intervals.",
    "Do not trade on mu. Try other features or a simpler model. For networks, enable intervals: without them, the rows that judge a network also chose its epochs, so the warning is missing too often.",
  ),
  oversized: row(
    "The forecasts show skill, but they are too large: their squared error is higher than that of the zero forecast.",
    "Use mu for ranking only, or set shrinkage to pooled, which multiplies every forecast by one factor and keeps their order.",
  ),
  negative_slope: row(
    "With shrinkage pooled or empirical_bayes, the slope of returns on held-out forecasts is negative by more than chance: returns go against the forecasts. Shrinkage then sets the common factor to 0; with pooled, the output also keeps the model's forecasts (`model` in forecasts, mu_model).",
    "Do not trade on the forecasts, nor against them: look for a feature or a label with the wrong sign or date. If only a few blocks of refits are affected, raise refit_every, or do nothing.",
  ),
  wild_forecast: row(
    "Forecasts of some tickers are far larger than their returns justify: out of sample, on the score rows, or in mu.",
    "Regularise the model, scale the features and check them for outliers, or set shrinkage to own.",
  ),
  not_converged: row(
    "The library stopped some fits at the maximum number of iterations before they converged.",
    "Raise max_iter or alpha, loosen tol, or set scaler.",
  ),
  interval_unsupported: row(
    "There are too few residuals (out of fold, or in the calibration part) for a finite interval at this alpha. The bounds are null.",
    "Use the alpha that the message names or provide a longer history. For run_ml_job, you can also raise n_splits or cv_test_size.",
  ),
  unknown_loss_type: row("The loss is unknown, so the job used mse.", "Correct loss_type."),
  disabled: row("The config disables the job. Nothing was trained and mu is empty.", "Set status to true."),
  window_defaulted: row(
    "The start or end of the window is missing, so the job used the first or last price date.",
    "Add start and end to the data-extraction blob.",
  ),
  ignored_section: row(
    "The job ignored a section that belongs to another service.",
    "If the section is meant for another service, do nothing.",
  ),
  feature_absent: row(
    "A ticker lacks a feature that other tickers have. A joint network uses 0 after scaling, and a pooled fit uses the mean of the tickers that have it.",
    "Provide the feature for the ticker, or remove it for all tickers.",
  ),
  failed_refit: row(
    "With refit_every, some refits failed. Models of earlier blocks forecast the rows of these blocks.",
    "Read the error in the message. If it mentions too few or equal labels, raise refit_every or window.",
  ),
  late_ticker: row(
    "With refit_every, the listed tickers have fewer than 30 fit rows at Learning_end, or too few for a network to train on, and join at the first later block that gives them enough. They have forecasts from then on, and no folds or calibration rows, so no intervals.",
    "If the tickers started trading late, do nothing. Otherwise set a later Learning_end, or provide a longer history.",
  ),
  no_refit: row(
    "refit_every changes nothing: all score rows lie in its first block of dates.",
    "Lower refit_every, or set an earlier Learning_end. A job without Learning_end forecasts one date with a fresh model and needs no refit.",
  ),
  thin_dates: row(
    "On some dates, fewer than 5 tickers can be compared. With target relative or rank, the labels of these dates are not used for training. With cross_section, their rows are excluded. With smoothing, their forecasts stay as they are.",
    "If there are only a few such dates, do nothing. Otherwise provide more tickers, or start the window later.",
  ),
  choice_is_noise: row(
    "Choosing among the candidates did not beat candidate 0 by more than chance, on out-of-fold rows whose members were chosen before their labels were known.",
    "Use candidate 0 alone, or candidates that differ more. The mean of several candidates is usually safe; do not pick one of them by its own out-of-fold figures.",
  ),
  candidate_failed: row(
    "A candidate could not be fitted for some tickers. It counts only for the others, and the members that remain forecast these tickers.",
    "Read the first error in the message. Correct the candidate or remove it.",
  ),
  few_choice_rows: row(
    "The history is too short for the requested warm-up folds, or the first folds begin before 30 label dates of out-of-fold rows are known. Until then candidate 0 forecasts alone.",
    "Provide a longer history, raise warm_up, or lower n_splits.",
  ),
};

type WarningCode = keyof typeof WARNING_TABLE;

/** Undefined for a code of another version. */
export function warningEntry(code: string): WarningEntry | undefined {
  return Object.hasOwn(WARNING_TABLE, code) ? WARNING_TABLE[code as WarningCode] : undefined;
}

export const warningSchema = s.named(
  "Warning",
  "Something that a reader of the forecasts should know. The job continued.",
  {
    code: s.mayGrow(z.enum(Object.keys(WARNING_TABLE) as [WarningCode, ...WarningCode[]])),
    message: z.string(),
    ticker: z.string().optional(),
    count: z.int().nonnegative().optional(),
  },
);

export type Warning = z.infer<typeof warningSchema>;
