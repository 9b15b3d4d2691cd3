import type { BlobPolicy } from "../../blob/policy.ts";
import type { ClusterEngine } from "../../contract/engine-url.ts";
import type { EventBatch } from "../../contract/output/job-events.ts";
import type { ResultRecord } from "../../contract/output/result-record.ts";
import type { Timing } from "../../contract/output/status-blob.ts";
import type { Problem } from "../../contract/problems/problem.ts";
import type { JobOrder, StopReason } from "../executor.ts";

/** Where a job's blobs are, and what it may read. */
export interface JobStorage {
  /** Where outputs and status blobs go; may carry a SAS. */
  readonly blobUrl: string;
  readonly policy: BlobPolicy;
}

/** What a job may use. */
export interface JobMeans {
  /** Bytes that it may hold, in its process and all that it starts. */
  readonly memoryBytes: number;
  /** The cluster that it computes on; by default this machine. */
  readonly cluster?: ClusterEngine | undefined;
}

/**
 * What the service writes to a job process's stdin, one JSON object a line: first the storage and what a job may use, then
 * one order after the other. A stop ends the process.
 */
export type ToJob =
  | ({ readonly op: "setup" } & JobMeans & JobStorage)
  | { readonly op: "order"; readonly order: JobOrder }
  /** How many workers the job of the last order may have from now on. */
  | { readonly op: "workers"; readonly workers: number }
  | { readonly op: "stop"; readonly reason: StopReason };

/** What a job process writes to descriptor 3, one JSON object a line. */
export type FromJob =
  /** Its modules are loaded, nothing of the order before runs any more, and it waits for an order. */
  | { readonly event: "ready" }
  /** It has taken the order. */
  | { readonly event: "accepted" }
  | { readonly event: "events"; readonly batch: EventBatch }
  /** For the service's log. What libraries print on stderr comes by a pipe of its own, earlier or later than this. */
  | { readonly event: "log"; readonly line: string }
  | { readonly event: "timings"; readonly timings: readonly Timing[] }
  /** The last message of an order: the process is ready again next, or ends. */
  | { readonly event: "end"; readonly end: JobEnd };

export type JobEnd = { readonly record: ResultRecord } | { readonly problem: Problem };

/** The descriptor to which a job process writes its messages. */
export const MESSAGE_DESCRIPTOR = 3;

/** Most characters of a message: far more than an order with its URLs and its config takes, or one batch of events. */
export const MAX_MESSAGE_LENGTH = 2 ** 25;

/** Makes a job process start its engine before it has an order. */
export const WARM_FLAG = "--warm";
