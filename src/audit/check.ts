import type { AuditCheckName } from "../contract/config/audit-checks.ts";
import type { Operation } from "../contract/config/job-operations.ts";
import type { AuditFacts, Severity } from "../contract/output/audit-blob.ts";
import type { JobContext, JobRequest } from "../jobs/shared/job.ts";
import type { AuditedBlobs } from "./audited-blobs.ts";
import type { AuditedJob } from "./job/audited-job.ts";
import type { AuditedCsv, PreparedPrices } from "./preparation/prepared-prices.ts";

/** The inputs and options of an audit. */
export interface AuditInputs {
  readonly request: JobRequest;
  /** The job that the config is for. */
  readonly operation: Operation;
  /** An earlier day's blobs; both, one or none. */
  readonly previous?: {
    readonly featureUrl?: string | undefined;
    readonly dataExtractorUrl?: string | undefined;
  };
  /** Prices from which `mucast prepare` makes blobs. */
  readonly csv?: AuditedCsv | undefined;
  /** Features whose implausible skill a person has acknowledged. */
  readonly accepted: ReadonlySet<string>;
  /** The number of dates after which the blobs are cut, one at a time. */
  readonly truncations: number;
  /** Whether to use ridge, or a network of 2 epochs, instead of the config's own model. */
  readonly quick: boolean;
  /** Whether the kernels of its jobs are pinned. */
  readonly portable?: boolean | undefined;
  /** The number of permutations of the labels. */
  readonly permutations: number;
}

/** An audit as a caller requests it: without blobs it examines those that are prepared from `csv`. */
export type AskedAudit = Omit<AuditInputs, "request"> & {
  readonly request: Omit<JobRequest, "featureUrl" | "dataExtractorUrl"> &
    Partial<Pick<JobRequest, "featureUrl" | "dataExtractorUrl">>;
};

/** One part of an audit. */
export interface AuditCheck {
  readonly name: AuditCheckName;
  /**
   * The cost, for a person who waits: in jobs, or in readings of the blobs.
   * @param others the other checks of the audit.
   */
  cost(asked: AskedAudit, others: readonly AuditCheckName[]): string;
  /** @throws MucastError of the blobs, of the config and of the job. */
  run(inputs: AuditInputs, context: AuditContext): Promise<CheckResult>;
}

/** What a check can use. Its `report` gets the warnings of reading; a job that the check runs reports nothing. */
export interface AuditContext extends JobContext {
  /** The blobs, shared by all checks. */
  readonly blobs: AuditedBlobs;
  /** The job, which runs on the whole blobs once for all checks. */
  readonly job: AuditedJob;
  /** The blobs prepared from the price CSV, once for all checks; undefined without one. */
  readonly prepared?: PreparedPrices | undefined;
  /** The audit's private folder. A check removes its own files; the audit removes the folder. */
  readonly workFolder: string;
  /** Called with the progress of a check: `done` of `total` units of its own work, such as jobs or tickers. */
  readonly onStep?: ((done: number, total: number) => void) | undefined;
}

export interface CheckResult {
  /** `found` if there is a finding above a note. */
  readonly status: "clean" | "found" | "not_run";
  /** Why the check was not run. */
  readonly reason?: string;
  /** The number of comparisons or statistical tests. */
  readonly tests: number;
  readonly findings: readonly Finding[];
  /** The check's own figures, bounded for any blobs. */
  readonly facts: AuditFacts;
}

export interface Finding {
  readonly check: AuditCheckName;
  readonly code: string;
  readonly severity: Severity;
  readonly feature?: string | undefined;
  readonly ticker?: string | undefined;
  readonly message: string;
  /** Small: the figures behind the message. */
  readonly evidence: AuditFacts;
  readonly advice: string;
}

/** The result of a check that ran. */
export function ranCheck(result: Pick<CheckResult, "tests" | "findings" | "facts">): CheckResult {
  const isFound = result.findings.some(({ severity }) => severity !== "note");
  return { status: isFound ? "found" : "clean", ...result };
}

/** The result of a check that has nothing to examine. */
export function notRun(reason: string): CheckResult {
  return { status: "not_run", reason, tests: 0, findings: [], facts: {} };
}
