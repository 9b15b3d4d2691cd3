import type { Operation } from "../contract/config/job-operations.ts";
import type { JobRequest } from "../jobs/shared/job.ts";
import type { AuditedCsv } from "./preparation/prepared-prices.ts";

/** What an audit looks at, and how hard. */
export interface AuditInputs {
  readonly request: JobRequest;
  /** The job that the config is for. */
  readonly operation: Operation;
  /** An earlier day's blobs; both, one or none. */
  readonly previous?: {
    readonly featureUrl?: string | undefined;
    readonly dataExtractorUrl?: string | undefined;
  };
  /** Prices of which `mucast prepare` makes blobs. */
  readonly csv?: AuditedCsv | undefined;
  /** Features whose implausible skill a person has acknowledged. */
  readonly accepted: ReadonlySet<string>;
  /** How many dates the blobs are cut after, one after the other. */
  readonly truncations: number;
  /** Ridge, or a network of 2 epochs, in place of the config's own model. */
  readonly quick: boolean;
  /** Whether the kernels of its jobs are pinned. */
  readonly portable?: boolean | undefined;
  /** How often the labels are permuted. */
  readonly permutations: number;
}

/** An audit as a caller asks for it: without blobs it judges those that are prepared of `csv`. */
export type AskedAudit = Omit<AuditInputs, "request"> & {
  readonly request: Omit<JobRequest, "featureUrl" | "dataExtractorUrl"> &
    Partial<Pick<JobRequest, "featureUrl" | "dataExtractorUrl">>;
};
