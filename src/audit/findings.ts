import type { AuditCheckName } from "../contract/config/audit-checks.ts";
import type { Severity } from "../contract/output/audit-blob.ts";
import type { Finding } from "./check.ts";

/** A kind of finding: which check makes it, how grave it is, what it means, and what its reader can do. */
interface FindingKind {
  readonly check: AuditCheckName;
  readonly severity: Severity;
  readonly meaning: string;
  readonly advice: string;
}

/** Every code of a finding. */
export const FINDING_TABLE = {
  prepared_value_changed: {
    check: "preparation",
    severity: "high",
    meaning:
      "A feature or price is prepared as another one where the price CSV ends after its date: it depends on later prices.",
    advice:
      "Do not use the feature. This is a defect of mucast: report it, with the CSV if it may be shared.",
  },
  forecast_changed: {
    check: "truncation",
    severity: "high",
    meaning: "A forecast is another one where the blobs end after its date: it depends on what came later.",
    advice:
      "Do not use the output. This is a defect of mucast or of its environment: report it, with the blobs if they may be shared.",
  },
  interval_changed: {
    check: "truncation",
    severity: "high",
    meaning:
      "The interval of a forecast is another one where the blobs end after its date, though the forecast is not.",
    advice: "Do not use the intervals. This is a defect of mucast or of its environment: report it.",
  },
  fold_changed: {
    check: "truncation",
    severity: "high",
    meaning: "Folds or out-of-fold forecasts are others where the blobs end later than all of their dates.",
    advice:
      "Do not use the metrics out of fold. This is a defect of mucast or of its environment: report it.",
  },
  training_changed: {
    check: "truncation",
    severity: "high",
    meaning: "A network's training curve is another one where the blobs end after the cut.",
    advice: "Do not use the output. This is a defect of mucast or of its environment: report it.",
  },
  fit_changed: {
    check: "truncation",
    severity: "high",
    meaning: "What a model was fitted on is different where the blobs end after the cut.",
    advice: "Do not use the output. This is a defect of mucast or of its environment: report it.",
  },
  ticker_changed: {
    check: "truncation",
    severity: "medium",
    meaning: "A ticker has forecasts with the blobs cut and none with the whole ones, or the other way.",
    advice: "Compare the failures of the two runs: which tickers take part must not depend on later dates.",
  },
  knows_next_price: {
    check: "foresight",
    severity: "high",
    meaning:
      "A feature goes with the next return as only something computed from the next price does: nearly in step with it, or more in its change since the day before than in its value.",
    advice:
      "Look at how the feature is dated: its value of a date may use prices of that date and before, none later. Compute it for one date from prices that end there, and compare.",
  },
  knows_later_return: {
    check: "foresight",
    severity: "high",
    meaning:
      "The change of a feature goes with a return some price dates later, or with its size, as in windows centred on their date. It is medium where an honest feature that returns follow after some dates looks the same.",
    advice:
      "Let the window of the feature end at its date; centred averages and two-sided filters use what comes later.",
  },
  implausible_skill: {
    check: "foresight",
    severity: "medium",
    meaning:
      "A feature goes with the next return more than known forecasts do, of one ticker, over all of them, or on part of the dates. Correlation alone cannot tell a leak from skill.",
    advice:
      "Find out what the feature is made of. Where it is honest, acknowledge it: name it in `accept` (--accept FEATURE).",
  },
  equals_later_value: {
    check: "foresight",
    severity: "high",
    meaning: "A feature is a later price or return, maybe scaled or shifted.",
    advice: "Remove the feature: it is the label, or what the label is made of.",
  },
  missing_predicts_label: {
    check: "foresight",
    severity: "medium",
    meaning:
      "Where a feature is missing the next return, or its size, is another one: the gaps follow from it, or they are news.",
    advice:
      "Find out when a value goes missing, and who knows it then. Rows with a missing feature are left out, so such gaps select rows by their label.",
  },
  filled_from_later: {
    check: "foresight",
    severity: "medium",
    meaning:
      "On dates without a price a feature has the value of the next date, or lies on the straight line to it.",
    advice: "Fill gaps forward only. Values filled backwards or interpolated are known when the next one is.",
  },
  value_without_price: {
    check: "foresight",
    severity: "note",
    meaning: "Features have values on dates on which their ticker has no price. No job uses those rows.",
    advice: "Check that the features come from the same calendar and prices as the data-extraction blob.",
  },
  whole_sample_standardised: {
    check: "foresight",
    severity: "medium",
    meaning:
      "A feature has mean 0 and deviation 1 over its whole sample, or reaches each end of a scale such as 0 to 1 exactly once, and did not before its end: later values scaled the earlier ones.",
    advice:
      "Give the feature as it is and let `scaler` of the job standardise it, or scale by earlier values alone.",
  },
  implausible_job: {
    check: "skill",
    severity: "medium",
    meaning:
      "The forecasts order returns better than an honest daily model may, by more than chance explains. A synthetic market shows such a figure; a real one that can be traded hardly does.",
    advice:
      "Look for a leak in the features, strongest ones first, and audit with an earlier day's blobs. If the market is synthetic, acknowledge it: name `implausible_job` in `accept` (--accept implausible_job).",
  },
  no_skill: {
    check: "skill",
    severity: "note",
    meaning:
      "The job's verdict on these rows is no evidence of skill. The message gives both parts of the information coefficient: that of lasting differences between tickers, and that of changes over time.",
    advice: "Do not size positions by these forecasts. It is no fault of the blobs.",
  },
  skill_in_no_part: {
    check: "skill",
    severity: "note",
    meaning:
      "The job's verdict is evidence of skill, but neither lasting differences between tickers nor changes over time show it by themselves.",
    advice:
      "Both parts compare the tickers of a date, so sizes and moves of the whole market show in neither. Otherwise the evidence is weak: run the audit again when there are more dates.",
  },
  feature_rewritten: {
    check: "restatement",
    severity: "high",
    meaning:
      "A feature has other values today on dates that the earlier blob knows: a smoother or a centred window, a restated figure, or another way to compute it.",
    advice:
      "Give each date the value that was known on that date, as first published. Where the values near the earlier blob's end changed (a small reach_rows), look for a window that reaches past its date.",
  },
  feature_standardised_again: {
    check: "restatement",
    severity: "high",
    meaning: "A feature was standardised with figures of the whole sample, which change with every new day.",
    advice:
      "Give the feature as it is and let the job scale it (its scalers are fitted on training rows), or standardise over a window that ends on each date.",
  },
  feature_rescaled: {
    check: "restatement",
    severity: "medium",
    meaning:
      "A feature was multiplied by a constant, as a level of adjusted prices or volumes is by a split or a dividend: earlier values then show what came later, and a model meets other levels than it learned.",
    advice: "Use a ratio in place of the level, such as the price over its mean or the volume over its mean.",
  },
  feature_back_filled: {
    check: "restatement",
    severity: "high",
    meaning: "A feature has values today on dates on which the earlier blob had none.",
    advice: "Fill forward alone, and date each value by the day on which it was published.",
  },
  feature_erased: {
    check: "restatement",
    severity: "medium",
    meaning: "A feature has no values today on dates on which the earlier blob had some.",
    advice: "Find out why they went: what was known on a date should stay.",
  },
  feature_arrived_late: {
    check: "restatement",
    severity: "note",
    meaning: "The earlier blob lacked the last rows of a ticker, as where markets close at different times.",
    advice: "Nothing, or make the blobs once all of a day's values are there.",
  },
  feature_rows_added: {
    check: "restatement",
    severity: "high",
    meaning: "A ticker has features today on dates on which the earlier blob had no row of it.",
    advice:
      "Leave out rows that were not there in time, and date each row by the day on which it was published.",
  },
  feature_rows_vanished: {
    check: "restatement",
    severity: "medium",
    meaning: "A ticker has no features today on dates on which the earlier blob had a row of it.",
    advice: "Keep the history of each ticker: what is left out after the fact is chosen with hindsight.",
  },
  feature_removed: {
    check: "restatement",
    severity: "note",
    meaning: "A feature of the earlier blob is not in today's, so that it cannot be compared.",
    advice: "Nothing, if it was dropped on purpose. A feature that was renamed was not compared.",
  },
  price_rewritten: {
    check: "restatement",
    severity: "high",
    meaning: "Prices of dates that the earlier blob knows have changed, and labels with them.",
    advice:
      "Find out which of the two is right. Where an adjustment is meant, it has to multiply the whole history before its date by one factor.",
  },
  price_rescaled: {
    check: "restatement",
    severity: "note",
    meaning: "A ticker's prices were multiplied by a constant, as for a split or a dividend.",
    advice:
      "Nothing for labels and for features that are ratios of prices. A feature that is a price level changes with it: use a ratio. Where prices have few decimals, an adjusted history is coarser, and ratios of it change: give prices with all their digits.",
  },
  price_back_filled: {
    check: "restatement",
    severity: "high",
    meaning: "A ticker has prices today on dates on which the earlier blob had none.",
    advice:
      "Leave out prices that were not there in time, above all where they were filled in from later ones.",
  },
  price_arrived_late: {
    check: "restatement",
    severity: "note",
    meaning:
      "The earlier blob lacked the last prices of a ticker, as where markets close at different times.",
    advice: "Nothing, or make the blobs once all prices are there.",
  },
  price_vanished: {
    check: "restatement",
    severity: "medium",
    meaning: "A ticker has no prices today on dates on which the earlier blob had some.",
    advice:
      "Find out why they went, and keep them: what is left out after the fact is chosen with hindsight.",
  },
  ticker_vanished: {
    check: "restatement",
    severity: "high",
    meaning: "A ticker is gone with its whole history, as when a universe keeps only those that survived.",
    advice:
      "Keep tickers that were delisted or left the index, with their history up to that day: without them the rest looks better than it was.",
  },
  ticker_appeared: {
    check: "restatement",
    severity: "note",
    meaning: "A ticker is new with its whole history, as when it entered an index.",
    advice: "Do not judge the past by it: it was chosen for what it became.",
  },
} as const satisfies Record<string, FindingKind>;

export type FindingCode = keyof typeof FINDING_TABLE;

/** A finding of a code of the table; its check, severity and advice are the table's, unless another severity is given. */
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
