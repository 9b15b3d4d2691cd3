import type { Operation, OperationStatus } from "../../contract/api/operation-view.ts";
import type { Problem } from "../../contract/errors/problem.ts";
import type { Timing } from "../../contract/output/status-blob.ts";

/** What traces and metrics need to know of an operation; its row has it all. */
export interface WatchedOperation {
  readonly id: string;
  readonly operation: Operation;
  readonly status: OperationStatus;
  /** Attempts begun so far. */
  readonly attempt: number;
  /** W3C trace context of the request that asked for it. */
  readonly traceparent: string | null;
  readonly created_at: Date;
  /** Of the first attempt. */
  readonly started_at: Date | null;
  readonly attempt_started_at: Date | null;
  readonly finished_at: Date | null;
  readonly error: Problem | null;
}

/** Methods that are told by their names; others, which a caller may make up, are told as one. */
export const METHODS: ReadonlySet<string> = new Set([
  "GET",
  "HEAD",
  "POST",
  "PUT",
  "PATCH",
  "DELETE",
  "OPTIONS",
]);

/** What HTTP says of a request when it begins. */
export interface RequestBegun {
  readonly method: string;
  /** The header, as it came. */
  readonly traceparent?: string | undefined;
}

/** What HTTP says of it when the response has ended, or its connection has. */
export interface RequestDone {
  /** The pattern of the route, such as `/v1/operations/:id`; undefined where none matched. Never a path. */
  readonly route: string | undefined;
  readonly status: number;
  /** Where the answer is a problem. */
  readonly code?: string | undefined;
}

/** A request that is being answered. */
export interface WatchedRequest {
  /** Trace context to store with an operation and to hand on; undefined where there is no trace. */
  readonly traceparent: string | undefined;
  /** Called once; later calls count for nothing. */
  ended(done: RequestDone): void;
}

/** Figures that are asked for when somebody reads the metrics. */
export interface Gauges {
  /** Operations that wait to start, of all services on the database. */
  queueLength(): number | Promise<number>;
  /** Of this service. */
  runningJobs(): number;
  coresTaken(): number;
}

export type DeliveryOutcome = "delivered" | "retried" | "failed";

/** What the parts of the service tell of themselves, for traces and metrics. No method throws or waits. */
export interface Telemetry {
  requestStarted(request: RequestBegun): WatchedRequest;
  /** A stream of events is open until what is returned is called. */
  streamOpened(): () => void;
  /** A connection came while as many were open as may be. */
  connectionRefused(): void;
  /** A new operation waits. */
  queued(operation: Pick<WatchedOperation, "operation">): void;
  /** An attempt begins. @param cores it has. */
  started(operation: WatchedOperation, cores: number): void;
  attemptLost(operation: Pick<WatchedOperation, "operation">): void;
  /** For good. @param timings of the job, where it told them. */
  ended(operation: WatchedOperation, timings: readonly Timing[]): void;
  delivery(target: string, outcome: DeliveryOutcome): void;
  /** Says where the figures are to be had. */
  gauges(gauges: Gauges): void;
  /** What `/metrics` answers, in Prometheus' text format. */
  metrics(): Promise<{ readonly contentType: string; readonly body: string }>;
  /** Sends what is still to be sent, for some seconds at most. */
  close(): Promise<void>;
}

/** Hears everything and tells nobody, for tests. */
export const noTelemetry: Telemetry = {
  requestStarted: ({ traceparent }) => ({ traceparent, ended: () => undefined }),
  streamOpened: () => () => undefined,
  connectionRefused: () => undefined,
  queued: () => undefined,
  started: () => undefined,
  attemptLost: () => undefined,
  ended: () => undefined,
  delivery: () => undefined,
  gauges: () => undefined,
  metrics: async () => ({ contentType: "text/plain; version=0.0.4; charset=utf-8", body: "" }),
  close: async () => undefined,
};
