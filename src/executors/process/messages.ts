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

/** What a job may use. */
export interface JobMeans {
  /** Limit of its memory in bytes, including everything it starts. */
  readonly memoryBytes: number;
  /** The cluster that it computes on; by default this machine. */
  readonly cluster?: ClusterEngine | undefined;
}

/**
 * What the service writes to a job process's stdin, one JSON object per line: first the storage and the limits, then one order after the
 * other. A stop ends the process.
 */
export type ToJob =
  | ({ readonly op: "setup" } & JobMeans & JobStorage)
  | { readonly op: "order"; readonly order: JobOrder }
  /** How many workers the job of the last order may have from now on. */
  | { readonly op: "workers"; readonly workers: number }
  | { readonly op: "stop"; readonly reason: StopReason };

/** What a job process writes to descriptor 3, one JSON object per line. */
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

/** The descriptor to which a job process writes its messages. */
export const MESSAGE_DESCRIPTOR = 3;

/** Maximum length of a message in characters: far more than an order with its URLs and config, or a batch of events, takes. */
export const MAX_MESSAGE_LENGTH = 2 ** 25;

/** Makes a job process start its engine before it has an order. */
export const WARM_FLAG = "--warm";
