import { createHash } from "node:crypto";
import type { AuditCheckName } from "../contract/config/payload-schemas.ts";
import {
  AUDIT_SCHEMA_NAME,
  type AuditBlob,
  LISTED_FINDINGS,
  SEVERITIES,
} from "../contract/output/audit-blob.ts";
import { MUCAST_VERSION } from "../contract/version.ts";
import type { AuditInputs } from "./audit-inputs.ts";
import type { CheckResult, Finding } from "./check.ts";

/** A check that was requested, with its cost and its result. */
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
  const { request, operation, accepted } = inputs;
  const findings = outcomes.flatMap(({ result }) => result.findings).sort(bySeverity);
  const isFound = findings.some(({ severity }) => severity !== "note");
  return {
    schema: AUDIT_SCHEMA_NAME,
    id: request.id,
    operation,
    verdict: isFound ? "found" : "clean",
    sentence: verdictSentence(isFound, inputs),
    blind_spots: blindSpots(inputs),
    checks: Object.fromEntries(outcomes.map(checkOf)),
    findings: findings.slice(0, LISTED_FINDINGS).map(listedFinding),
    finding_counts: countsOf(findings),
    accepted: [...accepted].sort(),
    inputs: { ...digests, config_sha256: createHash("sha256").update(request.config).digest("hex") },
    versions: { mucast: MUCAST_VERSION, node: process.versions.node },
    ...(kernelLevel === undefined ? {} : { kernel_level: kernelLevel }),
  };
}

/** Findings of one severity keep the order of the checks. */
function bySeverity(a: Finding, b: Finding): number {
  return SEVERITIES.indexOf(a.severity) - SEVERITIES.indexOf(b.severity);
}

function checkOf({ name, cost, result }: CheckOutcome) {
  const { status, reason, tests, facts } = result;
  return [name, { status, ...(reason === undefined ? {} : { reason }), cost, tests, facts }] as const;
}

function listedFinding(found: Finding, index: number): AuditBlob["findings"][number] {
  const { check, code, severity, feature, ticker, message, evidence, advice } = found;
  return {
    number: index + 1,
    check,
    code,
    severity,
    ...(feature === undefined ? {} : { feature }),
    ...(ticker === undefined ? {} : { ticker }),
    message,
    evidence,
    advice,
  };
}

function countsOf(findings: readonly Finding[]): Record<string, number> {
  const counts = new Map<string, number>();
  for (const { code } of findings) counts.set(code, (counts.get(code) ?? 0) + 1);
  return Object.fromEntries(counts);
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

/** What an earlier day's feature blob would show. */
const WITHOUT_FEATURES =
  "Without an earlier day's feature blob: values that were restated or filled in later, whole-sample scaling that leaves no exact trace, and figures dated before their publication, unless they correlate with returns more than honest features do.";

/** What an earlier day's data-extraction blob would show. */
const WITHOUT_PRICES =
  "Without an earlier day's data-extraction blob: prices that were rewritten later, and tickers that were removed with their history.";

/** What this audit cannot see; what an earlier blob would show comes first. */
function blindSpots({ previous }: Pick<AuditInputs, "previous">): string[] {
  return [
    ...(previous?.featureUrl === undefined ? [WITHOUT_FEATURES] : []),
    ...(previous?.dataExtractorUrl === undefined ? [WITHOUT_PRICES] : []),
    ...ALWAYS,
  ];
}

/** The verdict as a sentence, with its limits. */
function verdictSentence(isFound: boolean, { previous }: Pick<AuditInputs, "previous">): string {
  const found = isFound
    ? "The audit found signs of look-ahead or of a rewritten history."
    : "The audit found no look-ahead. This does not prove that there is none.";
  const blobs = [
    ...(previous?.featureUrl === undefined ? ["feature blob"] : []),
    ...(previous?.dataExtractorUrl === undefined ? ["data-extraction blob"] : []),
  ];
  if (blobs.length === 0) return found;
  return `${found} No earlier day's ${blobs.join(" or ")} was compared, so the audit cannot see restated history.`;
}
