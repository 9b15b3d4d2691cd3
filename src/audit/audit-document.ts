import { createHash } from "node:crypto";
import type { AuditCheckName } from "../contract/config/payload-schemas.ts";
import {
  AUDIT_SCHEMA_NAME,
  type AuditBlob,
  LISTED_FINDINGS,
  SEVERITIES,
} from "../contract/output/audit-blob.ts";
import { MUCAST_VERSION } from "../contract/version.ts";
import type { AuditInputs, CheckResult } from "./check.ts";

export interface CheckOutcome {
  readonly name: AuditCheckName;
  readonly cost: string;
  readonly result: CheckResult;
}

/**
 * The verdict of an audit, with the schema `mucast.audit/1`. If there are very many findings, it lists the first ones by severity and
 * counts all.
 * @param kernelLevel the level that the kernels of its jobs were pinned to, if any job ran.
 */
export function auditDocument(
  inputs: AuditInputs,
  outcomes: readonly CheckOutcome[],
  digests: Omit<AuditBlob["inputs"], "config_sha256">,
  kernelLevel?: string,
): AuditBlob {
  const { request, operation, accepted, previous = {} } = inputs;
  const findings = outcomes
    .flatMap(({ result }) => result.findings)
    .sort((a, b) => SEVERITIES.indexOf(a.severity) - SEVERITIES.indexOf(b.severity));
  const isFound = findings.some(({ severity }) => severity !== "note");
  const missing = [
    ...(previous.featureUrl === undefined ? (["feature blob"] as const) : []),
    ...(previous.dataExtractorUrl === undefined ? (["data-extraction blob"] as const) : []),
  ];
  const sentence = isFound
    ? "The audit found signs of look-ahead or of a rewritten history."
    : "The audit found no look-ahead. This does not prove that there is none.";
  const limits = ` No earlier day's ${missing.join(" or ")} was compared, so the audit cannot see restated history.`;
  return {
    schema: AUDIT_SCHEMA_NAME,
    id: request.id,
    operation,
    verdict: isFound ? "found" : "clean",
    sentence: missing.length === 0 ? sentence : sentence + limits,
    blind_spots: [...missing.map((name) => `Without an earlier day's ${name}: ${WITHOUT[name]}`), ...ALWAYS],
    checks: Object.fromEntries(
      outcomes.map(({ name, cost, result: { status, reason, tests, facts } }) => [
        name,
        { status, ...(reason === undefined ? {} : { reason }), cost, tests, facts },
      ]),
    ),
    findings: findings.slice(0, LISTED_FINDINGS).map((found, i) => ({ number: i + 1, ...found })),
    finding_counts: Object.fromEntries(
      [...Map.groupBy(findings, ({ code }) => code)].map(([code, { length }]) => [code, length]),
    ),
    accepted: [...accepted].sort(),
    inputs: { ...digests, config_sha256: createHash("sha256").update(request.config).digest("hex") },
    versions: { mucast: MUCAST_VERSION, node: process.versions.node },
    ...(kernelLevel === undefined ? {} : { kernel_level: kernelLevel }),
  };
}

/** What no audit of two blobs can see, whatever it compares. */
const ALWAYS: readonly string[] = [
  "Changes made before the earlier blobs were written: a history that was rewritten before then looks original.",
  "Survivorship bias: a list of tickers chosen because they survived looks like any other.",
  "A feature that is dated too early but would be honest on both dates, such as a lagged return or a weekday.",
  "Levels of wide averages that reach into the future: they hardly change from day to day.",
  "Look-ahead within the rows that a job learns from, such as in its folds: every cut comes after them.",
  "Leaks no stronger than the strongest honest features: up to a correlation of 0.11 with the next return (more with few dates or tickers), only an earlier day's blobs reveal a leak.",
  "Placeholders for missing values, such as 0, if later events determine which values are missing.",
  "Volatilities and other features without a direction that are dated early on only some dates, and any feature of a single ticker that is dated early on only some dates.",
];

/** What an earlier day's blob would show. */
const WITHOUT = {
  "feature blob":
    "values that were restated or filled in later, whole-sample scaling that leaves no exact trace, and figures dated before their publication, unless they correlate with returns more than honest features do.",
  "data-extraction blob":
    "prices that were rewritten later, and tickers that were removed with their history.",
};
