import type { SubmittedOperation } from "../contract/config/job-operations.ts";
import type { PayloadOptions } from "../contract/config/payload-schemas.ts";
import type { EventBatch } from "../contract/output/job-events.ts";
import type { ResultRecord } from "../contract/output/result-record.ts";
import type { Timing } from "../contract/output/status-blob.ts";
import type { Problem } from "../contract/problems/problem.ts";
import type { Settings } from "../contract/settings.ts";

/** One attempt at a job, as the dispatcher gives it to an executor. */
export interface JobOrder {
  /** Of the operation; names the output. */
  readonly id: string;
  /** Counted from 1; another attempt follows one that was lost or released. */
  readonly attempt: number;
  readonly operation: SubmittedOperation;
  /** Empty if a replay leaves it to what its output records; so are the next two. */
  readonly featureUrl: string;
  readonly dataExtractorUrl: string;
  /** JSON text, with its numbers as the caller wrote them. */
  readonly config: string;
  /** What the payload has beside them; URLs as the job reads them. */
  readonly options?: PayloadOptions | undefined;
  /** The caller's space of the storage, which takes output and status; the storage itself by default. */
  readonly space?: string | undefined;
  /** Which of its URLs, if they are the service's own, lie in the storage itself and not in the space. */
  readonly shared?: readonly string[] | undefined;
  /** Cores this job may use; for executors on this machine. */
  readonly workers: number;
  /** W3C trace context of the request that asked for it. */
  readonly traceparent?: string | undefined;
}

export type StopReason = "canceled" | "timed_out" | "draining";

/** How an execution ended. `lost`: it is gone and its job has not said how it ended, by a kill or with its machine. */
export type ExecutionEnd =
  | { readonly kind: "succeeded"; readonly record: ResultRecord }
  | { readonly kind: "failed"; readonly problem: Problem }
  | { readonly kind: "lost"; readonly reason: string };

/** Takes what an execution reports while it runs. */
export interface ExecutionListener {
  onEvents(batch: EventBatch): void;
  /** Called once, at its end, with the times that its steps took. */
  onTimings(timings: readonly Timing[]): void;
}

/** A job that runs. */
export interface Execution {
  /** By it a service finds the execution again after a restart. It is stored, so it holds no secret. */
  readonly handle: string;
  /** Settles once nothing of it runs any more; never rejects. */
  readonly ended: Promise<ExecutionEnd>;
  /**
   * Asks it to stop, and kills it if it does not; `ended` settles when that has happened. Stopped for `canceled` or
   * `timed_out` it ends as failed with that code. Stopped for `draining` it ends as lost; if it outlives the service
   * the executor detaches from it, it goes on, and `ended` stays open. Harmless when repeated or late.
   */
  stop(reason: StopReason): void;
}

/** Runs jobs: on this machine, or on a platform. Each passes the suite in executor-suite.testing.ts. */
export interface Executor {
  /** As the settings name it. */
  readonly name: Settings["executor"];
  /** Whether its executions go on when the service ends. */
  readonly outlivesService: boolean;
  /**
   * Starts an attempt, or adopts the execution that carries its id and attempt already.
   * @throws MucastError unavailable if it cannot start anything now; the dispatcher tries the attempt again later.
   */
  start(order: JobOrder, listener: ExecutionListener): Promise<Execution>;
  /** @returns the running or ended execution of a stored handle; undefined if it is gone without a trace. */
  adopt(order: JobOrder, handle: string, listener: ExecutionListener): Promise<Execution | undefined>;
  /** Stops the processes that it keeps ready and those of jobs on this machine; detaches from executions elsewhere. */
  close(): Promise<void>;
}
