import type { BlobPolicy } from "../../blob/policy.ts";
import type { ClusterEngine } from "../../contract/engine-url.ts";
import type { EventBatch } from "../../contract/output/job-events.ts";
import type { ResultRecord } from "../../contract/output/result-record.ts";
import type { Timing } from "../../contract/output/status-blob.ts";
import type { Problem } from "../../contract/problems/problem.ts";
import type { JobOrder, StopReason } from "../executor.ts";

/** The locations of a job's blobs, and what it may read. */
export interface JobStorage {
  /** The location of outputs and status blobs; may carry a SAS. */
  readonly blobUrl: string;
  readonly policy: BlobPolicy;
}

/**
 * What the service sends to a job process: first the storage and the limits, then one order after the other. A stop ends the process.
 */
export type ToJob =
  | ({ readonly op: "setup" } & JobSetup)
  | { readonly op: "order"; readonly order: JobOrder }
  /** How many workers the job of the last order may have from now on. */
  | { readonly op: "workers"; readonly workers: number }
  | { readonly op: "stop"; readonly reason: StopReason };

/** What every job of a process shares. */
export interface JobSetup extends JobStorage {
  /** Limit of its memory in bytes, including everything it starts. */
  readonly memoryBytes: number;
  /** The cluster that it computes on; by default this machine. */
  readonly cluster?: ClusterEngine | undefined;
  /** Whether the process starts an engine before it has an order. */
  readonly warm: boolean;
}

/** What a job process sends to the service. */
export type FromJob =
  /** Its modules are loaded, nothing of the previous order runs any more, and it waits for an order. */
  | { readonly event: "ready" }
  /** It has accepted the order. */
  | { readonly event: "accepted" }
  | { readonly event: "events"; readonly batch: EventBatch }
  /** For the service's log. Output of libraries on stderr comes through another pipe, earlier or later than this. */
  | { readonly event: "log"; readonly line: string }
  | { readonly event: "timings"; readonly timings: readonly Timing[] }
  /** The last message of an order. The process is then ready again, or ends. */
  | { readonly event: "end"; readonly end: JobEnd };

export type JobEnd = { readonly record: ResultRecord } | { readonly problem: Problem };
