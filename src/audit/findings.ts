import type { AuditCheckName } from "../contract/config/payload-schemas.ts";
import type { Severity } from "../contract/output/audit-blob.ts";
import type { Finding } from "./check.ts";

/** A kind of finding: its check, its severity, what it means, and what the reader can do. */
interface FindingKind {
  readonly check: AuditCheckName;
  readonly severity: Severity;
  readonly meaning: string;
  readonly advice: string;
}

/** Every code of a finding. */
export const FINDING_TABLE = {
  forecast_changed: {
    check: "truncation",
    severity: "high",
    meaning: "When the blobs are cut after its date, a forecast changes. It depends on later data.",
    advice:
      "Do not use the output. This is a bug in mucast or its environment: report it, with the blobs if you may share them.",
  },
  interval_changed: {
    check: "truncation",
    severity: "high",
    meaning:
      "When the blobs are cut after its date, the interval of a forecast changes, although the forecast does not.",
    advice: "Do not use the intervals. This is a bug in mucast or its environment: report it.",
  },
  fold_changed: {
    check: "truncation",
    severity: "high",
    meaning:
      "When the blobs are cut after all dates of the folds, the folds or the out-of-fold forecasts change.",
    advice: "Do not use the out-of-fold metrics. This is a bug in mucast or its environment: report it.",
  },
  training_changed: {
    check: "truncation",
    severity: "high",
    meaning: "When the blobs end after the training cut-off, the training curve of a network changes.",
    advice: "Do not use the output. This is a bug in mucast or its environment: report it.",
  },
  fit_changed: {
    check: "truncation",
    severity: "high",
    meaning: "When the blobs end after the training cut-off, a model is fitted on different data.",
    advice: "Do not use the output. This is a bug in mucast or its environment: report it.",
  },
  ticker_changed: {
    check: "truncation",
    severity: "medium",
    meaning:
      "A ticker has forecasts from the cut blobs but not from the whole blobs, or the other way round.",
    advice: "Compare the failures of the two runs. Which tickers take part must not depend on later dates.",
  },
  choice_unsupported: {
    check: "truncation",
    severity: "high",
    meaning:
      "The candidates that the output records as chosen are not those that its losses support, at the end or when a fold begins.",
    advice: "Do not use the output. This is a bug in mucast or its environment: report it.",
  },
  knows_next_price: {
    check: "foresight",
    severity: "high",
    meaning:
      "A feature moves with the next return in a way that only a value computed from the next price does: almost perfectly, or more in its change since the previous day than in its value.",
    advice:
      "Check how the feature is dated. Its value on a date may use prices up to that date, but no later ones. Compute it for one date from prices that end on that date, and compare.",
  },
  knows_later_return: {
    check: "foresight",
    severity: "high",
    meaning:
      "The change of a feature moves with a return some price dates later, or with the size of that return, as happens with windows centred on their date. The severity is medium if an honest feature that leads returns by some dates would look the same.",
    advice:
      "Let the window of the feature end on its date. Centred averages and two-sided filters use later values.",
  },
  implausible_skill: {
    check: "foresight",
    severity: "medium",
    meaning:
      "A feature moves with the next return more than known forecasts do: for one ticker, over all tickers, or on part of the dates. Correlation alone cannot tell a leak from skill.",
    advice:
      "Find out how the feature is made. If it is honest, acknowledge it: list it in `accept` (--accept FEATURE).",
  },
  equals_later_value: {
    check: "foresight",
    severity: "high",
    meaning: "A feature is a later price or return, possibly scaled or shifted.",
    advice: "Remove the feature: it is the label, or the label is computed from it.",
  },
  missing_predicts_label: {
    check: "foresight",
    severity: "medium",
    meaning:
      "The next return, or its size, differs on dates where a feature is missing. The gaps depend on the return, or they are news themselves.",
    advice:
      "Find out when a value goes missing and who knows about it at that time. Rows with a missing feature are excluded, so such gaps select rows by their label.",
  },
  filled_from_later: {
    check: "foresight",
    severity: "medium",
    meaning:
      "On dates without a price, a feature has the value of the next date or is on the straight line to it.",
    advice:
      "Fill gaps forward only. Values that are filled backwards or interpolated are known only when the next value is known.",
  },
  value_without_price: {
    check: "foresight",
    severity: "note",
    meaning: "Features have values on dates without a price of their ticker. No job uses these rows.",
    advice: "Check that the features come from the same calendar and prices as the data-extraction blob.",
  },
  whole_sample_standardised: {
    check: "foresight",
    severity: "medium",
    meaning:
      "A feature has mean 0 and standard deviation 1 over its whole sample, or reaches each end of a scale such as 0 to 1 exactly once, and did not before its end. Later values were used to scale earlier ones.",
    advice:
      "Provide the feature unscaled and let the `scaler` of the job standardise it, or scale it with earlier values only.",
  },
  implausible_job: {
    check: "skill",
    severity: "medium",
    meaning:
      "The forecasts order returns better than an honest daily model can, by more than chance explains. A synthetic market can show such a figure; a real market that can be traded hardly does.",
    advice:
      "Look for a leak in the features, starting with the strongest ones, and run an audit with the blobs of an earlier day. If the market is synthetic, acknowledge the finding: list `implausible_job` in `accept` (--accept implausible_job).",
  },
  no_skill: {
    check: "skill",
    severity: "note",
    meaning:
      "The job's verdict on these rows is no evidence of skill. The message gives both parts of the information coefficient: the part from lasting differences between tickers and the part from changes over time.",
    advice: "Do not size positions by these forecasts. The blobs are not at fault.",
  },
  skill_in_no_part: {
    check: "skill",
    severity: "note",
    meaning:
      "The job's verdict is evidence of skill, but neither lasting differences between tickers nor changes over time show skill on their own.",
    advice:
      "Both parts compare the tickers of a date, so neither shows skill in sizes or in moves of the whole market. Otherwise the evidence is weak: run the audit again when there are more dates.",
  },
  feature_rewritten: {
    check: "restatement",
    severity: "high",
    meaning:
      "A feature has different values today than in the earlier blob on the same dates. Possible causes are a smoother or a centred window, a restated figure, or a different way to compute it.",
    advice:
      "Give each date the value that was known on that date, as first published. If values near the end of the earlier blob changed (a small reach_rows), look for a window that extends past its date.",
  },
  feature_standardised_again: {
    check: "restatement",
    severity: "high",
    meaning:
      "A feature was standardised with statistics of the whole sample, which change with every new day.",
    advice:
      "Provide the feature unscaled and let the job scale it (its scalers are fitted on training rows), or standardise it over a window that ends on each date.",
  },
  feature_rescaled: {
    check: "restatement",
    severity: "medium",
    meaning:
      "A feature was multiplied by a constant, as happens to a level of adjusted prices or volumes after a split or a dividend. Earlier values then reflect later events, and a model sees different levels than it learned.",
    advice: "Use a ratio instead of the level, such as the price or the volume divided by its mean.",
  },
  feature_back_filled: {
    check: "restatement",
    severity: "high",
    meaning: "A feature has values today on dates where the earlier blob had none.",
    advice: "Fill forward only, and date each value by the day on which it was published.",
  },
  feature_erased: {
    check: "restatement",
    severity: "medium",
    meaning: "A feature has no values today on dates where the earlier blob had some.",
    advice: "Find out why the values are gone. What was known on a date should stay.",
  },
  feature_arrived_late: {
    check: "restatement",
    severity: "note",
    meaning:
      "The earlier blob lacked the last rows of a ticker, for example because markets close at different times.",
    advice: "Do nothing, or make the blobs after all values of a day are available.",
  },
  feature_rows_added: {
    check: "restatement",
    severity: "high",
    meaning: "A ticker has features today on dates where the earlier blob had no row for it.",
    advice:
      "Remove rows that were not available in time, and date each row by the day on which it was published.",
  },
  feature_rows_vanished: {
    check: "restatement",
    severity: "medium",
    meaning: "A ticker has no features today on dates where the earlier blob had a row for it.",
    advice:
      "Keep the history of each ticker. Rows that are removed after the fact are chosen with hindsight.",
  },
  feature_removed: {
    check: "restatement",
    severity: "note",
    meaning: "A feature of the earlier blob is not in today's blob, so it cannot be compared.",
    advice: "If it was removed on purpose, do nothing. A renamed feature is not compared.",
  },
  price_rewritten: {
    check: "restatement",
    severity: "high",
    meaning: "Prices on dates of the earlier blob have changed, and so have the labels.",
    advice:
      "Find out which of the two is right. If the change is an adjustment, it must multiply the whole history before its date by one factor.",
  },
  price_rescaled: {
    check: "restatement",
    severity: "note",
    meaning: "The prices of a ticker were multiplied by a constant, as for a split or a dividend.",
    advice:
      "For labels and for features that are ratios of prices, do nothing. A feature that is a price level changes too: use a ratio instead. If prices have few decimals, an adjusted history is coarser and its ratios change: provide prices with all digits.",
  },
  price_back_filled: {
    check: "restatement",
    severity: "high",
    meaning: "A ticker has prices today on dates where the earlier blob had none.",
    advice:
      "Remove prices that were not available in time, especially prices that were filled in from later ones.",
  },
  price_arrived_late: {
    check: "restatement",
    severity: "note",
    meaning:
      "The earlier blob lacked the last prices of a ticker, for example because markets close at different times.",
    advice: "Do nothing, or make the blobs after all prices are available.",
  },
  price_vanished: {
    check: "restatement",
    severity: "medium",
    meaning: "A ticker has no prices today on dates where the earlier blob had some.",
    advice:
      "Find out why the prices are gone, and keep them. Rows that are removed after the fact are chosen with hindsight.",
  },
  ticker_vanished: {
    check: "restatement",
    severity: "high",
    meaning: "A ticker is gone with its whole history, as happens when a universe keeps only the survivors.",
    advice:
      "Keep tickers that were delisted or left the index, with their history up to that day. Without them, the rest looks better than it was.",
  },
  ticker_appeared: {
    check: "restatement",
    severity: "note",
    meaning: "A ticker is new with its whole history, as happens when it enters an index.",
    advice: "Do not judge the past by this ticker: it was chosen for what it became.",
  },
} as const satisfies Record<string, FindingKind>;

export type FindingCode = keyof typeof FINDING_TABLE;

/** A finding with a code of the table; check, severity and advice come from the table, unless another severity is given. */
export function finding(
  code: FindingCode,
  { severity, ...found }: Pick<Finding, "feature" | "ticker" | "message" | "evidence"> & Partial<Finding>,
): Finding {
  const kind: FindingKind = FINDING_TABLE[code];
  return {
    check: kind.check,
    code,
    severity: severity ?? kind.severity,
    ...found,
    advice: found.advice ?? kind.advice,
  };
}
