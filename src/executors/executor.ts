import type { ExecutionEvent } from "../contract/api/job-events.ts";
import type { Operation } from "../contract/api/operation-view.ts";
import type { Problem } from "../contract/errors/problem.ts";
import type { ResultRecord } from "../contract/output/result-record.ts";
import type { Timing } from "../contract/output/status-blob.ts";

/** One attempt at a job, as it is handed to an executor. */
export interface JobOrder {
  /** Of the operation; names the output. */
  readonly id: string;
  /** Counted from 1; another attempt follows one that was lost or handed back. */
  readonly attempt: number;
  readonly operation: Operation;
  readonly featureUrl: string;
  readonly dataExtractorUrl: string;
  /** JSON text, with its numbers as the caller wrote them. */
  readonly config: string;
  /** The caller's space of the storage, which takes output and status; the storage itself by default. */
  readonly space?: string | undefined;
  /** Which of the two URLs, where they are the service's own, lie in the storage itself and not in the space. */
  readonly shared?: readonly string[] | undefined;
  /** Cores this job may use; for executors on this machine. */
  readonly workers: number;
  /** W3C trace context of the request that asked for it. */
  readonly traceparent?: string | undefined;
}

export type StopReason = "canceled" | "timed_out" | "draining";

/** How an execution ended. `lost`: it is gone without having said how, by a kill or with its machine. */
export type ExecutionEnd =
  | { readonly kind: "succeeded"; readonly record: ResultRecord }
  | { readonly kind: "failed"; readonly problem: Problem }
  | { readonly kind: "lost"; readonly reason: string };

/** What an execution tells while it runs. */
export interface ExecutionListener {
  onEvent(event: ExecutionEvent): void;
  /** Once, at its end: what it spent its time on. */
  onTimings(timings: readonly Timing[]): void;
}

/** A job that runs. */
export interface Execution {
  /** Finds it again after a restart of the service; stored, so it holds no secret. */
  readonly handle: string;
  /** Settles once nothing of it runs any more; never rejects. */
  readonly ended: Promise<ExecutionEnd>;
  /**
   * Asks it to stop, or ends it where it does not; `ended` tells when that has happened. Stopped for `canceled` it
   * ends as failed with that code, for `timed_out` with that; for `draining` as lost, but where it outlives the service
   * it goes on: it is let go, and `ended` stays open. Harmless when repeated or late.
   */
  stop(reason: StopReason): void;
}

/** A place where jobs run. */
export interface Executor {
  readonly name: "process" | "container-apps";
  /** Whether what it has started goes on when the service ends. */
  readonly outlivesService: boolean;
  /**
   * Starts an attempt, or adopts the execution that carries its id and attempt already.
   * @throws MucastError unavailable where it cannot start anything now; the attempt is then tried again later.
   */
  start(order: JobOrder, listener: ExecutionListener): Promise<Execution>;
  /** @returns the running or ended execution of a stored handle; undefined where it is gone without a trace. */
  adopt(order: JobOrder, handle: string, listener: ExecutionListener): Promise<Execution | undefined>;
  /** Ends what it keeps ready, and on this machine whatever still runs. */
  close(): Promise<void>;
}
