import type { BlobPolicy } from "../../blob/policy.ts";
import type { ExecutionEvent } from "../../contract/api/job-events.ts";
import type { Problem } from "../../contract/errors/problem.ts";
import type { ResultRecord } from "../../contract/output/result-record.ts";
import type { Timing } from "../../contract/output/status-blob.ts";
import type { JobOrder, StopReason } from "../executor.ts";

/** Where a job's blobs are. */
export interface BlobPlaces {
  /** Where outputs and status blobs go; may carry a SAS. */
  readonly blobUrl: string;
  readonly policy: BlobPolicy;
}

/**
 * What a job process is told on stdin, one JSON object a line: its places and the most that a job may hold, later one order after the other, perhaps to
 * stop, which ends it.
 */
export type ToJob =
  | ({ readonly op: "places"; readonly memoryBytes: number } & BlobPlaces)
  | { readonly op: "order"; readonly order: JobOrder }
  | { readonly op: "stop"; readonly reason: StopReason };

/** What a job process tells on descriptor 3, one JSON object a line. */
export type FromJob =
  /** It waits for an order, its modules loaded, and nothing of the order before runs any more. */
  | { readonly event: "ready" }
  /** It has the order. */
  | { readonly event: "accepted" }
  | { readonly event: "job"; readonly job: ExecutionEvent }
  /** For the service's log. What libraries print on stderr comes by a pipe of its own, earlier or later than this. */
  | { readonly event: "log"; readonly line: string }
  | { readonly event: "timings"; readonly timings: readonly Timing[] }
  /** Its last word of an order: it is ready again next, or ends. */
  | { readonly event: "end"; readonly end: JobEnd };

export type JobEnd = { readonly record: ResultRecord } | { readonly problem: Problem };

/** The descriptor on which a job process tells. */
export const TELLING = 3;

/** Most characters of a message: far more than an order with its URLs and its config takes, or what a job tells at once. */
export const LONGEST_MESSAGE = 2 ** 25;

/** Makes a job process start its engine before it has an order. */
export const WARM_FLAG = "--warm";
