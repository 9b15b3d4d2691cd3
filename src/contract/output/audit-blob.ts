import { z } from "zod";
import { AUDIT_CHECKS, type AuditCheckName } from "../config/payload-schemas.ts";
import * as s from "../schema/open-schema.ts";
import { jobOperationSchema } from "./result-record.ts";

/** With a `high` or `medium` finding, an audit exits with its code for findings; with notes only, it does not. */
export const SEVERITIES = ["high", "medium", "note"] as const;
export type Severity = (typeof SEVERITIES)[number];

export const LISTED_FINDINGS = 200;

const factsSchema = z.record(s.text(), z.unknown());

const findingSchema = s.named("Finding", {
  number: s.positive("Counted from 1, the most severe first."),
  check: s.mayGrow(z.enum(AUDIT_CHECKS)),
  code: s.text(),
  severity: s.mayGrow(z.enum(SEVERITIES)),
  feature: s.optionalText(),
  ticker: s.optionalText(),
  message: s.text(),
  evidence: factsSchema,
  advice: s.text(),
});

const checkSchema = s.named("AuditCheck", {
  status: s.mayGrow(z.enum(["clean", "found", "not_run"])),
  reason: s.optionalText("Why the check did not run."),
  cost: s.text("Cost of the check, in jobs or in readings of the blobs."),
  tests: s.count("Number of comparisons or statistical tests."),
  facts: factsSchema,
});

const inputSchema = s.named("AuditInput", {
  url: s.text("Without secrets; for a local file, its name."),
  sha256: s.digest(),
});

export const AUDIT_SCHEMA_NAME = "mucast.audit/1";

/** The verdict of an audit. The same request gives the same bytes, apart from `id`. */
export const auditBlobSchema = s.titled("AuditBlob", "Audit blob", {
  schema: z.literal(AUDIT_SCHEMA_NAME),
  id: s.text(),
  operation: jobOperationSchema,
  verdict: s
    .mayGrow(z.enum(["clean", "found"]))
    .describe("`found` if a finding is high or medium. Notes and accepted findings leave it clean."),
  sentence: s.optionalText(
    "The verdict in words, with what it could not compare. Absent in verdicts of earlier versions.",
  ),
  blind_spots: s.list(s.text(), "What no check of this audit can see."),
  checks: z
    .strictObject({
      preparation: checkSchema.optional().describe("Only in verdicts of 0.2.0."),
      truncation: checkSchema.optional(),
      restatement: checkSchema.optional(),
      foresight: checkSchema.optional(),
      skill: checkSchema.optional(),
    } satisfies Record<AuditCheckName | "preparation", unknown>)
    .describe("Each requested check."),
  findings: z.array(findingSchema).max(LISTED_FINDINGS).describe("The first findings, by severity."),
  finding_counts: z.record(s.text(), s.positive()).describe("All findings, by code."),
  accepted: s.list(s.text(), "Accepted features and codes of accepted findings."),
  inputs: z.strictObject({
    feature: inputSchema,
    data_extractor: inputSchema,
    previous_feature: inputSchema.optional(),
    previous_data_extractor: inputSchema.optional(),
    prices: inputSchema.optional().describe("The price CSV of `preparation`."),
    config_sha256: s.digest(),
  }),
  versions: z.record(s.text(), s.text()),
  kernel_level: s.optionalText(
    "Processor level that the kernels of the audit's jobs were pinned to; absent if they were not pinned.",
  ),
});

export type AuditBlob = z.infer<typeof auditBlobSchema>;
/** Plain JSON from a check: its own figures, or the evidence of a finding. */
export type AuditFacts = Readonly<Record<string, z.core.util.JSONType>>;
