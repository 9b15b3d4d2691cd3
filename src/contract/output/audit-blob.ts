import { z } from "zod";
import { AUDIT_CHECKS, type AuditCheckName } from "../config/audit-checks.ts";
import { mayGrow } from "../schema/open-schema.ts";
import { jobOperationSchema } from "./operation-schemas.ts";

/** `high` and `medium` make an audit end with its exit code for findings; a `note` does not. */
export const SEVERITIES = ["high", "medium", "note"] as const;
export type Severity = (typeof SEVERITIES)[number];

/** The most findings that an audit lists; `finding_counts` counts all. */
export const LISTED_FINDINGS = 200;

const count = z.int().nonnegative();
const digest = z.string().regex(/^[0-9a-f]{64}$/);

/** What a check found, in its own figures: plain JSON, bounded. */
const factsSchema = z.record(z.string(), z.unknown());

const findingSchema = z
  .strictObject({
    number: z.int().positive().describe("Counted from 1, the most severe first."),
    check: mayGrow(z.enum(AUDIT_CHECKS)),
    code: z.string(),
    severity: mayGrow(z.enum(SEVERITIES)),
    feature: z.string().optional(),
    ticker: z.string().optional(),
    message: z.string(),
    evidence: factsSchema,
    advice: z.string(),
  })
  .meta({ id: "Finding" });

const checkSchema = z
  .strictObject({
    status: mayGrow(z.enum(["clean", "found", "not_run"])),
    reason: z.string().optional().describe("Why the check was not run."),
    cost: z.string().describe("What the check takes, in jobs or in readings of the blobs."),
    tests: count.describe("How many comparisons or statistical tests it made."),
    facts: factsSchema,
  })
  .meta({ id: "AuditCheck" });

const inputSchema = z.strictObject({
  url: z.string().describe("Without a secret; of a local file its name."),
  sha256: digest,
});

export const AUDIT_SCHEMA_NAME = "mucast.audit/1";

/** The verdict of an audit. The same request leaves the same bytes but for `id`. */
export const auditBlobSchema = z
  .strictObject({
    schema: z.literal(AUDIT_SCHEMA_NAME),
    id: z.string(),
    operation: jobOperationSchema,
    verdict: mayGrow(z.enum(["clean", "found"])).describe(
      "`found` where a finding is high or medium; notes and what a person accepted leave it clean.",
    ),
    sentence: z
      .string()
      .optional()
      .describe(
        "The verdict in words, with what it could not compare. Absent in verdicts of earlier versions.",
      ),
    blind_spots: z.array(z.string()).describe("What no check of this audit can see."),
    checks: z
      .strictObject({
        preparation: checkSchema.optional(),
        truncation: checkSchema.optional(),
        restatement: checkSchema.optional(),
        foresight: checkSchema.optional(),
        skill: checkSchema.optional(),
      } satisfies Record<AuditCheckName, unknown>)
      .describe("Each check that was asked for."),
    findings: z.array(findingSchema).max(LISTED_FINDINGS).describe("The first of them by severity."),
    finding_counts: z.record(z.string(), z.int().positive()).describe("All findings, by code."),
    accepted: z
      .array(z.string())
      .describe("Features whose skill a person acknowledged, and codes of findings."),
    inputs: z.strictObject({
      feature: inputSchema,
      data_extractor: inputSchema,
      previous_feature: inputSchema.optional(),
      previous_data_extractor: inputSchema.optional(),
      prices: inputSchema.optional().describe("The price CSV of the check of preparation."),
      config_sha256: digest,
    }),
    versions: z.record(z.string(), z.string()),
    kernel_level: z
      .string()
      .optional()
      .describe(
        "The processor level that the kernels of the audit's jobs were pinned to; absent where none ran so.",
      ),
  })
  .meta({ id: "AuditBlob", title: "Audit blob" });

export type AuditBlob = z.infer<typeof auditBlobSchema>;
/** Plain JSON that a check tells: its own figures, or the evidence of a finding. */
export type AuditFacts = Readonly<Record<string, z.core.util.JSONType>>;
