import type { AuditCheckName } from "../contract/config/audit-checks.ts";
import type { AuditFacts, Severity } from "../contract/output/audit-blob.ts";
import type { JobContext } from "../jobs/shared/job.ts";
import type { AskedAudit, AuditInputs } from "./audit-inputs.ts";
import type { AuditedBlobs } from "./audited-blobs.ts";
import type { AuditedJob } from "./job/audited-job.ts";
import type { PreparedPrices } from "./preparation/prepared-prices.ts";

/** One part of an audit. */
export interface AuditCheck {
  readonly name: AuditCheckName;
  /**
   * What it takes, for the person who waits: in jobs, or in readings of the blobs.
   * @param others the checks that the audit runs beside this one.
   */
  cost(asked: AskedAudit, others: readonly AuditCheckName[]): string;
  /** @throws MucastError of the blobs, of the config and of the job. */
  run(inputs: AuditInputs, context: AuditContext): Promise<CheckResult>;
}

/** What a check may use. Its `report` gets the warnings of reading; a job that the check runs reports nothing. */
export interface AuditContext extends JobContext {
  /** The blobs, for all checks together. */
  readonly blobs: AuditedBlobs;
  /** The job, which runs on the whole blobs once for all checks. */
  readonly job: AuditedJob;
  /** What is prepared of the price CSV, once for all checks; undefined without one. */
  readonly prepared?: PreparedPrices | undefined;
  /** The audit's private folder. A check removes what it writes there; the audit removes the folder. */
  readonly workFolder: string;
  /** Called as a check gets on: `done` of `total` units of its own work, such as jobs or tickers. */
  readonly onStep?: ((done: number, total: number) => void) | undefined;
}

export interface CheckResult {
  /** `found` where there is a finding above a note. */
  readonly status: "clean" | "found" | "not_run";
  /** Why it was not run. */
  readonly reason?: string;
  /** How many comparisons or statistical tests were made. */
  readonly tests: number;
  readonly findings: readonly Finding[];
  /** The check's own figures, bounded whatever the blobs hold. */
  readonly facts: AuditFacts;
}

export interface Finding {
  readonly check: AuditCheckName;
  readonly code: string;
  readonly severity: Severity;
  readonly feature?: string | undefined;
  readonly ticker?: string | undefined;
  readonly message: string;
  /** Small: the figures that the message rests on. */
  readonly evidence: AuditFacts;
  readonly advice: string;
}

/** The result of a check that was run. */
export function ranCheck(result: Pick<CheckResult, "tests" | "findings" | "facts">): CheckResult {
  const isFound = result.findings.some(({ severity }) => severity !== "note");
  return { status: isFound ? "found" : "clean", ...result };
}

/** The result of a check that has nothing to look at. */
export function notRun(reason: string): CheckResult {
  return { status: "not_run", reason, tests: 0, findings: [], facts: {} };
}
