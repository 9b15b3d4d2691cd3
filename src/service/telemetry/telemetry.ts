import type { OperationStatus } from "../../contract/api/operation-view.ts";
import type { SubmittedOperation } from "../../contract/config/job-operations.ts";
import type { ErrorCode } from "../../contract/errors/error-codes.ts";
import type { Timing } from "../../contract/output/job-events.ts";
import type { Problem } from "../../contract/problems/problem.ts";

/** The fields of an operation that traces and metrics need; its row has them all. */
export interface WatchedOperation {
  readonly id: string;
  readonly operation: SubmittedOperation;
  readonly status: OperationStatus;
  /** Attempts begun. */
  readonly attempt: number;
  /** W3C trace context of the request that submitted it. */
  readonly traceparent: string | null;
  readonly created_at: Date;
  /** Start of the first attempt. */
  readonly started_at: Date | null;
  readonly attempt_started_at: Date | null;
  readonly finished_at: Date | null;
  readonly error: Problem | null;
}

/** What a process of one request does; `track` works for an ended job instead. */
export const REQUEST_KINDS = ["report", "prepare", "track"] as const;
export type RequestKind = (typeof REQUEST_KINDS)[number];

/** Methods with a label of their own. All others, which callers may invent, share one label. */
export const METHODS = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]);

export interface RequestBegun {
  readonly method: string;
  readonly traceparent?: string | undefined;
}

export interface RequestDone {
  /** The pattern of the route, such as `/v1/operations/:id`; undefined if none matched. Never a path. */
  readonly route: string | undefined;
  readonly status: number;
  readonly code?: string | undefined;
}

export interface WatchedRequest {
  /** Trace context to store with an operation and to pass on; undefined without a trace. */
  readonly traceparent: string | undefined;
  /** Ends the request; called once. */
  ended(done: RequestDone): void;
}

/** Values that are read when a client reads the metrics. */
export interface Gauges {
  /** Waiting operations of all services on the database. */
  queueLength(): number | Promise<number>;
  runningJobs(): number;
  coresTaken(): number;
  requestProcesses(): number;
}

/** Outcomes of one attempt to deliver an event: `retried` failed and will be repeated, `failed` will not. */
export const DELIVERY_OUTCOMES = ["delivered", "retried", "failed"] as const;
export type DeliveryOutcome = (typeof DELIVERY_OUTCOMES)[number];

export type RequestOutcome = "done" | ErrorCode;

/** Receives what the parts of the service report, for traces and metrics. No method throws or waits. */
export interface Telemetry {
  requestStarted(request: RequestBegun): WatchedRequest;
  /** A stream of events opened. @returns a function that reports its end, called once. */
  streamOpened(): () => void;
  connectionRefused(): void;
  queued(operation: Pick<WatchedOperation, "operation">): void;
  /** An attempt starts. @param cores of its job. */
  started(operation: WatchedOperation, cores: number): void;
  attemptLost(operation: Pick<WatchedOperation, "operation">): void;
  /** An operation ended. @param timings of its job, if the job reported them. */
  ended(operation: WatchedOperation, timings: readonly Timing[]): void;
  delivery(target: string, outcome: DeliveryOutcome): void;
  /** A process that worked on one request ended. @param outcome `done`, or the code of its error. */
  requestProcessEnded(kind: RequestKind, outcome: RequestOutcome): void;
  gauges(gauges: Gauges): void;
  /** The answer of `/metrics`, in Prometheus' text format. */
  metrics(): Promise<{ readonly contentType: string; readonly body: string }>;
  /** Sends the last spans, for some seconds at most. */
  close(): Promise<void>;
}
