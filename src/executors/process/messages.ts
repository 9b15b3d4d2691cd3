import type { BlobPolicy } from "../../blob/policy.ts";
import type { ClusterEngine } from "../../contract/engine-url.ts";
import type { EventBatch, Timing } from "../../contract/output/job-events.ts";
import type { ExecutionEnd, JobOrder } from "../executor.ts";

/** The locations of a job's blobs, and what it may read. */
export interface JobStorage {
  /** The location of outputs; may carry a SAS. */
  readonly blobUrl: string;
  readonly policy: BlobPolicy;
}

/** What every job of a process shares. */
export interface JobSetup extends JobStorage {
  /** Limit of its memory in bytes, including everything it starts. */
  readonly memoryBytes: number;
  /** The cluster that it computes on; by default this machine. */
  readonly cluster?: ClusterEngine | undefined;
  /** Whether the process starts an engine before it has an order. */
  readonly warm: boolean;
}

/** What the service sends to a job process: the setup, then one order after the other. SIGTERM ends the process. */
export type ToJob =
  | ({ readonly op: "setup" } & JobSetup)
  | { readonly op: "order"; readonly order: JobOrder }
  /** How many workers the job of the last order may have from now on. */
  | { readonly op: "workers"; readonly workers: number };

/** What a job process sends to the service. Nothing follows the end of a job that was stopped. */
export type FromJob =
  | { readonly event: "events"; readonly batch: EventBatch }
  | { readonly event: "timings"; readonly timings: readonly Timing[] }
  /** Nothing of the order runs any more. `isLast`: the process ends, too. */
  | { readonly event: "end"; readonly end: JobEnd; readonly isLast: boolean };

export type JobEnd = Exclude<ExecutionEnd, { kind: "lost" }>;
