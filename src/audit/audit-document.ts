import { createHash } from "node:crypto";
import type { AuditCheckName } from "../contract/config/audit-checks.ts";
import {
  AUDIT_SCHEMA_NAME,
  type AuditBlob,
  LISTED_FINDINGS,
  SEVERITIES,
} from "../contract/output/audit-blob.ts";
import { MUCAST_VERSION } from "../contract/version.ts";
import type { AuditInputs } from "./audit-inputs.ts";
import { blindSpots, verdictSentence } from "./blind-spots.ts";
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
