import assert from "node:assert/strict";
import { test } from "node:test";
import { AUDIT_CHECKS } from "../contract/config/payload-schemas.ts";
import { auditBlobSchema } from "../contract/output/audit-blob.ts";
import { openSchema } from "../contract/schema/open-schema.ts";
import { auditDocument, type CheckOutcome } from "./audit-document.ts";
import { type AuditInputs, type Finding, notRun, ranCheck } from "./check.ts";
import { finding } from "./findings.ts";
import { CHECKS } from "./run-audit.ts";

const INPUTS: AuditInputs = {
  request: { featureUrl: "f", dataExtractorUrl: "d", config: "{}", id: "7" },
  operation: "run_ml_job",
  accepted: new Set(["mom_5", "2"]),
  truncations: 5,
  quick: false,
  permutations: 19,
};
const DIGEST = { url: "f.json", sha256: "0".repeat(64) };
const DIGESTS = { feature: DIGEST, data_extractor: DIGEST };

function verdictOf(...findings: readonly Finding[]) {
  const result = ranCheck({ tests: 3, findings, facts: { jobs: 2 } });
  const outcomes: CheckOutcome[] = [
    { name: "truncation", cost: "2 jobs", result },
    { name: "restatement", cost: "nothing", result: notRun("there are no earlier blobs") },
  ];
  return auditDocument(INPUTS, outcomes, DIGESTS);
}

const found = (ticker: string, severity: Finding["severity"] = "high") =>
  finding("forecast_changed", { ticker, severity, message: ticker, evidence: { at: "mu" } });

test("an audit runs every check of the contract, in its order", () => {
  assert.deepEqual(
    CHECKS.map(({ name }) => name),
    AUDIT_CHECKS,
  );
});

test("a verdict matches its schema, with only the requested checks", () => {
  const verdict = verdictOf(found("A"));
  auditBlobSchema.parse(verdict);
  openSchema(auditBlobSchema).parse(JSON.parse(JSON.stringify({ ...verdict, later: 1 })));
  assert.deepEqual(Object.keys(verdict.checks), ["truncation", "restatement"]);
  assert.deepEqual(verdict.checks.truncation, {
    status: "found",
    cost: "2 jobs",
    tests: 3,
    facts: { jobs: 2 },
  });
  assert.equal(verdict.checks.restatement?.reason, "there are no earlier blobs");
  assert.deepEqual(verdict.accepted, ["2", "mom_5"]);
});

test("a verdict of 0.2.0 with the check `preparation` is read", () => {
  const { checks, findings, inputs, ...verdict } = verdictOf(found("A"));
  const old = {
    ...verdict,
    checks: { preparation: checks.truncation, ...checks },
    findings: findings.map((one) => ({ ...one, check: "preparation", code: "prepared_value_changed" })),
    inputs: { ...inputs, prices: DIGEST },
  };
  openSchema(auditBlobSchema).parse(old);
});

test("with only notes it is clean; findings are numbered, the most severe first, and otherwise in their order", () => {
  const { verdict, checks } = verdictOf(found("A", "note"));
  assert.deepEqual([verdict, checks.truncation?.status, verdictOf().verdict], ["clean", "clean", "clean"]);
  const mixed = verdictOf(found("A", "note"), found("B", "medium"), found("C"), found("D", "medium"));
  const { findings } = mixed;
  assert.equal(mixed.verdict, "found");
  assert.deepEqual(
    findings.map(({ number, ticker }) => `${number} ${ticker}`),
    ["1 C", "2 B", "3 D", "4 A"],
  );
});

test("the first 200 of very many findings are listed, and all are counted", () => {
  const notes = Array.from({ length: 300 }, (_, i) => found(`N${i}`, "note"));
  const verdict = verdictOf(...notes, found("last"));
  auditBlobSchema.parse(verdict);
  assert.deepEqual([verdict.findings.length, verdict.findings[0]!.ticker], [200, "last"]);
  assert.deepEqual(verdict.finding_counts, { forecast_changed: 301 });
});
