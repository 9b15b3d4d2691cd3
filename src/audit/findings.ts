import type { AuditCheckName, Severity } from "../contract/output/audit-blob.ts";
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
      "The change of a feature goes with a return some price dates later, as in windows centred on their date.",
    advice:
      "Let the window of the feature end at its date; centred averages and two-sided filters use what comes later.",
  },
  implausible_skill: {
    check: "foresight",
    severity: "medium",
    meaning:
      "A feature goes with the next return more than known forecasts do. Correlation alone cannot tell a leak from skill.",
    advice: "Find out what the feature is made of. Where it is honest, acknowledge it with --accept FEATURE.",
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
      "Where a feature is missing the next return is another one: the gaps follow from it, or they are news.",
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
      "A feature has mean 0 and deviation 1 over its whole sample and had not before its end: later values scaled the earlier ones.",
    advice:
      "Give the feature as it is and let `scaler` of the job standardise it, or scale by earlier values alone.",
  },
  no_skill: {
    check: "skill",
    severity: "note",
    meaning:
      "The information coefficient is not above that of the same forecasts judged against permuted labels.",
    advice: "Do not size positions by these forecasts. It is no fault of the blobs.",
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
