import { parseDlSettings } from "../contract/config/dl-settings.ts";
import type { Operation } from "../contract/config/job-operations.ts";
import { parseMlSettings } from "../contract/config/ml-settings.ts";
import type { AuditCheckName } from "../contract/config/payload-schemas.ts";
import type { AuditBlob } from "../contract/output/audit-blob.ts";
import type { JobContext, JobRequest } from "../jobs/shared/job.ts";
import type { AuditedBlobs } from "./audited-blobs.ts";
import type { AuditedJob } from "./job/audited-job.ts";

export interface AuditInputs {
  readonly request: JobRequest;
  readonly operation: Operation;
  /** An earlier day's blobs; both, one or none. */
  readonly previous?: Partial<Record<"featureUrl" | "dataExtractorUrl", string | undefined>>;
  /** Features whose implausible skill a person has acknowledged. */
  readonly accepted: ReadonlySet<string>;
  /** How many dates the blobs are cut after, one after the other. */
  readonly truncations: number;
  /** Ridge, or a network of 2 epochs, in place of the config's own model. */
  readonly quick: boolean;
  readonly portable?: boolean | undefined;
  /** How often the labels are permuted. */
  readonly permutations: number;
}

/** The settings of the audited job that an audit needs. @throws MucastError like the job. */
export function jobSettings({ request: { config }, operation }: AuditInputs) {
  if (operation === "run_ml_job") return { delay: parseMlSettings(config).settings.delay, status: true };
  const { delay, status } = parseDlSettings(config).settings;
  return { delay, status };
}

export interface AuditCheck {
  readonly name: AuditCheckName;
  /**
   * The cost, for a person who waits: in jobs, or in readings of the blobs.
   * @param others the other checks of the audit.
   */
  cost(audit: AuditInputs, others: readonly AuditCheckName[]): string;
  /** @throws MucastError of the blobs, of the config and of the job. */
  run(inputs: AuditInputs, context: AuditContext): Promise<CheckResult>;
}

/** What a check can use. Its `report` gets the warnings of reading; a job that the check runs reports nothing. */
export interface AuditContext extends JobContext {
  readonly blobs: AuditedBlobs;
  /** The job, which runs on the whole blobs once for all checks. */
  readonly job: AuditedJob;
  /** The audit's private folder. A check removes its own files; the audit removes the folder. */
  readonly workFolder: string;
  /** Called with the progress of a check: `done` of `total` units of its own work, such as jobs or tickers. */
  readonly onStep?: ((done: number, total: number) => void) | undefined;
}

/** The result of a check; `found` if there is a finding above a note. Its facts are bounded for any blobs. */
export type CheckResult = Omit<NonNullable<AuditBlob["checks"]["truncation"]>, "cost"> & {
  readonly findings: readonly Finding[];
};

/** A finding, with the few figures behind the message as its evidence. */
export type Finding = Readonly<Omit<AuditBlob["findings"][number], "number">>;

export function ranCheck(result: Pick<CheckResult, "tests" | "findings" | "facts">): CheckResult {
  const isFound = result.findings.some(({ severity }) => severity !== "note");
  return { status: isFound ? "found" : "clean", ...result };
}

export function notRun(reason: string): CheckResult {
  return { status: "not_run", reason, tests: 0, findings: [], facts: {} };
}
