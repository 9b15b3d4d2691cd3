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
