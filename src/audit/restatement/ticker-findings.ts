import { counted } from "../../contract/errors/wording.ts";
import type { AuditFacts } from "../../contract/output/audit-blob.ts";
import type { Finding } from "../check.ts";
import { finding } from "../findings.ts";
import type { HistoryComparison } from "./history-comparison.ts";

/** Tickers that a finding names. */
const MAX_TICKERS = 20;

/** Mean log-returns over the whole earlier history, to see whether the vanished tickers were losers; null without prices. */
export interface PastReturns {
  readonly vanished: number | null;
  readonly kept: number | null;
}

const BLOB_NAMES = { feature: "feature blob", data_extractor: "data-extraction blob" } as const;

/** Tickers that only one of the blobs has. */
export function tickerFindings(
  blob: keyof typeof BLOB_NAMES,
  { vanished, appeared, tickers }: HistoryComparison,
  returns?: PastReturns,
): Finding[] {
  const evidenceOf = (names: readonly string[]): AuditFacts => ({
    blob,
    tickers: names.length,
    of: tickers + vanished.length,
    examples: names.slice(0, MAX_TICKERS),
  });
  const findings: Finding[] = [];
  if (vanished.length > 0) {
    const past =
      returns === undefined ? {} : { return_vanished: returns.vanished, return_kept: returns.kept };
    findings.push(
      finding("ticker_vanished", {
        ...(vanished.length === 1 ? { ticker: vanished[0] } : {}),
        message: `${counted(vanished.length, "ticker")} of the earlier ${BLOB_NAMES[blob]} ${vanished.length === 1 ? "is" : "are"} not in today's: ${listed(vanished)}`,
        evidence: { ...evidenceOf(vanished), ...past },
      }),
    );
  }
  if (appeared.length > 0) {
    findings.push(
      finding("ticker_appeared", {
        ...(appeared.length === 1 ? { ticker: appeared[0] } : {}),
        message: `${counted(appeared.length, "ticker")} of today's ${BLOB_NAMES[blob]} ${appeared.length === 1 ? "was" : "were"} not in the earlier one: ${listed(appeared)}`,
        evidence: evidenceOf(appeared),
      }),
    );
  }
  return findings;
}

function listed(names: readonly string[]): string {
  const shown = names.slice(0, MAX_TICKERS).join(", ");
  return names.length > MAX_TICKERS ? `${shown} and others` : shown;
}
