import type { SubmittedOperation } from "../contract/config/job-operations.ts";
import type { PayloadOptions } from "../contract/config/payload-schemas.ts";
import type { EventBatch, Timing } from "../contract/output/job-events.ts";
import type { ResultRecord } from "../contract/output/result-record.ts";
import type { Problem } from "../contract/problems/problem.ts";
import type { Settings } from "../contract/settings.ts";

/** One attempt at a job, as the dispatcher passes it to an executor. */
export interface JobOrder {
  readonly id: string;
  /** Starts at 1. */
  readonly attempt: number;
  readonly operation: SubmittedOperation;
  /** Empty if a replay takes it from the recorded output, like the next two. */
  readonly featureUrl: string;
  readonly dataExtractorUrl: string;
  /** JSON text that keeps the numbers as the caller wrote them. */
  readonly config: string;
  /** The rest of the payload, with URLs as the job reads them. */
  readonly options?: PayloadOptions | undefined;
  /** The caller's space of the storage, for output and status; by default the storage itself. */
  readonly space?: string | undefined;
  /** The service's own URLs that are in the storage itself and not in the space. */
  readonly shared?: readonly string[] | undefined;
  readonly workers: number;
  readonly traceparent?: string | undefined;
}

export type JobInputs = Pick<
  JobOrder,
  "featureUrl" | "dataExtractorUrl" | "config" | "options" | "space" | "shared"
>;

export type StopReason = "canceled" | "timed_out" | "draining";

/** How an execution ended. `lost`: it no longer exists and its job did not report its end, because it or its machine was killed. */
export type ExecutionEnd =
  | { readonly kind: "succeeded"; readonly record: ResultRecord }
  | { readonly kind: "failed"; readonly problem: Problem }
  | { readonly kind: "lost"; readonly reason: string };

export interface ExecutionListener {
  onEvents(batch: EventBatch): void;
  /** Called once, at the end, with the duration of each step. */
  onTimings(timings: readonly Timing[]): void;
}

export interface Execution {
  /** Finds the execution again after a restart of the service. It is stored, so it holds no secret. */
  readonly handle: string;
  /** Settles once nothing of it runs any more; never rejects. */
  readonly ended: Promise<ExecutionEnd>;
  /** Changes how many tasks it runs at a time. Absent if it has a machine of its own. */
  setWorkers?(workers: number): void;
  /**
   * Asks it to stop, and kills it if it does not. With `canceled` or `timed_out`, it ends as failed with that code. With `draining`, it
   * ends as lost; one that outlives the service continues, and `ended` stays pending. Repeated and late calls are harmless.
   */
  stop(reason: StopReason): void;
}

/** Runs jobs on this machine or on a platform. Each executor passes the suite in executor-suite.testing.ts. */
export interface Executor {
  readonly name: Settings["executor"];
  /** Whether its executions continue after the service ends. */
  readonly outlivesService: boolean;
  /**
   * Starts an attempt, or adopts the execution that it already has.
   * @throws MucastError unavailable if it cannot start anything now; the dispatcher tries the attempt again later.
   */
  start(order: JobOrder, listener: ExecutionListener): Promise<Execution>;
  /** @returns the execution of a stored handle; undefined if it is known that none is left. */
  adopt(order: JobOrder, handle: string, listener: ExecutionListener): Promise<Execution | undefined>;
  /** Stops waiting processes and the jobs on this machine; detaches from executions elsewhere. */
  close(): Promise<void>;
}
