import { setTimeout as pause } from "node:timers/promises";
import { MucastError } from "../../contract/errors/errors.ts";
import type { Timing } from "../../contract/output/job-events.ts";
import { publicProblem } from "../../contract/problems/public-problem.ts";
import type { Execution, ExecutionEnd, JobOrder, StopReason } from "../../executors/executor.ts";
import { recordProgress, recordStart, releaseOperation } from "../store/attempts.ts";
import type { RunningRow } from "../store/operations.ts";
import { canceledProblem, finishAttempt } from "./finish-attempt.ts";
import { ProgressBatcher } from "./progress-batcher.ts";
import { orderOf, type QueueParts } from "./queue-parts.ts";

const PAUSE_MILLISECONDS = { first: 500, longest: 10_000 };
const REFUSED_WAIT_SECONDS = 15;
/** How long the service asks the storage for an output before it trusts only the execution. */
const STORAGE_PATIENCE_MILLISECONDS = 300_000;

/** The executor started nothing. */
interface Refusal {
  readonly refused: MucastError;
}

/** The caller canceled the operation before an execution started. */
const NEVER_STARTED = { kind: "failed", problem: canceledProblem() } as const;

/** One attempt that this service runs: from its start or adoption until its end is stored. */
export class RunningJob {
  readonly row: RunningRow;
  /** Resolves when the end is stored, or when the operation no longer belongs to this service; never rejects. */
  readonly done: Promise<void>;
  readonly #parts: QueueParts;
  readonly #began = performance.now();
  readonly #order: JobOrder;
  #cores: number;
  #execution: Execution | undefined;
  #stopFor: StopReason | undefined;
  #timings: readonly Timing[] = [];
  #isReleased = false;
  readonly #detached = new AbortController();
  /** An execution that outlives the service reports no end here. */
  readonly #onDetached = new Promise<ExecutionEnd>((resolve) => {
    this.#detached.signal.addEventListener("abort", () => resolve({ kind: "lost", reason: "detached" }));
  });

  /** @param row as claimed or taken over; its execution is adopted if it has a handle. @param cores that it may use at first. */
  constructor(parts: QueueParts, row: RunningRow, cores: number) {
    this.#parts = parts;
    this.row = row;
    this.#order = orderOf(row, cores, parts.urlOf);
    this.#cores = cores;
    if (row.cancel_requested_at) this.#stopFor = "canceled";
    this.done = this.#run();
  }

  /** Whether it has released its operation to the queue. */
  get isReleased(): boolean {
    return this.#isReleased;
  }

  /** Changes how many cores it may use. No byte of the output depends on it. */
  setCores(cores: number): void {
    this.#cores = cores;
    this.#execution?.setWorkers?.(cores);
  }

  /** Asks it to stop; the first reason wins. */
  stop(reason: StopReason): void {
    this.#stopFor ??= reason;
    this.#execution?.stop(this.#stopFor);
  }

  /**
   * Stops the execution, or leaves it running if it outlives the service, and stores nothing: another service has the operation, or
   * takes it over.
   */
  detach(): void {
    this.#detached.abort();
    this.stop("draining");
  }

  async #run(): Promise<void> {
    const parts = this.#parts;
    const fields = { operation_id: this.row.id };
    const batcher = new ProgressBatcher(
      (batch) => recordProgress(parts, this.row, batch),
      (error) => parts.log.warn({ ...fields, err: error }, "progress could not be stored"),
    );
    const end = await this.#execute(batcher);
    await batcher.flush();
    const began = performance.now();
    const mayWaitForStorage = () => performance.now() - began < STORAGE_PATIENCE_MILLISECONDS;
    await this.#untilDone(async () => {
      this.#isReleased = await this.#storeEnd(end, mayWaitForStorage());
    });
  }

  async #execute(batcher: ProgressBatcher): Promise<ExecutionEnd | Refusal> {
    try {
      if (this.#stopFor === "canceled" && this.#hasNoExecution()) return NEVER_STARTED;
      const execution = await this.#begin(batcher);
      if (execution === undefined) return { kind: "lost", reason: "it was gone when the service came back" };
      this.#execution = execution;
      if (this.#cores !== this.#order.workers) execution.setWorkers?.(this.#cores);
      if (this.row.handle === null) await this.#untilDone(() => this.#storeStart(execution.handle));
      batcher.begin();
      if (this.#stopFor) execution.stop(this.#stopFor);
      const timer = setTimeout(() => this.stop("timed_out"), this.#millisecondsLeft());
      return await Promise.race([execution.ended, this.#onDetached]).finally(() => clearTimeout(timer));
    } catch (error) {
      if (error instanceof MucastError && error.code === "unavailable") {
        if (this.#stopFor === "canceled") return NEVER_STARTED;
        this.#parts.log.warn(
          { operation_id: this.row.id, err: error },
          "the job could not be started; the service will try again",
        );
        return { refused: error };
      }
      let defect_id: string | undefined;
      const problem = publicProblem(error, ({ id }) => {
        defect_id = id;
      });
      const fields = { operation_id: this.row.id, defect_id, err: error };
      this.#parts.log.error(fields, "the job could not be started");
      return { kind: "failed", problem };
    }
  }

  /** Whether no execution of the attempt can run anywhere. */
  #hasNoExecution(): boolean {
    return this.row.handle === null && !this.#parts.executor.outlivesService;
  }

  async #storeStart(handle: string): Promise<void> {
    const { telemetry } = this.#parts;
    if (!(await recordStart(this.#parts, this.row, handle))) return;
    const cores = this.#cores;
    telemetry.started(this.row, cores);
    const { id, attempt } = this.row;
    this.#parts.log.info({ operation_id: id, attempt, cores }, "an attempt begins");
  }

  #begin(batcher: ProgressBatcher): Promise<Execution | undefined> {
    const { executor } = this.#parts;
    const listener = {
      onEvents: batcher.take,
      onTimings: (timings: readonly Timing[]) => {
        this.#timings = timings;
      },
    };
    const { handle } = this.row;
    return handle === null
      ? executor.start(this.#order, listener)
      : executor.adopt(this.#order, handle, listener);
  }

  /** @returns whether it released the operation to the queue. */
  #storeEnd(end: ExecutionEnd | Refusal, lookForOutput: boolean): Promise<boolean> {
    const { database } = this.#parts;
    if ("refused" in end) {
      const { retryAfter = REFUSED_WAIT_SECONDS } = end.refused.data as { retryAfter?: number };
      return releaseOperation(database, this.row, "refused", retryAfter);
    }
    if (end.kind === "lost" && this.#stopFor === "draining") {
      return releaseOperation(database, this.row, "drained", 0);
    }
    return finishAttempt(this.#parts, this.row, end, { timings: this.#timings, lookForOutput });
  }

  /** Repeats an action until it succeeds: the database or the storage may be unreachable. Ends if the job was detached. */
  async #untilDone(action: () => Promise<unknown>): Promise<void> {
    for (let wait = PAUSE_MILLISECONDS.first; !this.#detached.signal.aborted; wait *= 2) {
      try {
        await action();
        return;
      } catch (error) {
        const fields = { operation_id: this.row.id, err: error };
        this.#parts.log.warn(fields, "the end of an attempt could not be stored; the service will try again");
      }
      const most = Math.min(wait, PAUSE_MILLISECONDS.longest);
      await pause(most, undefined, { signal: this.#detached.signal }).catch(() => undefined);
    }
  }

  /**
   * Measures the time before the job came here by the database's clock, and the time since by this process's monotonic clock. It does
   * not compare the two clocks, which may differ.
   */
  #millisecondsLeft(): number {
    const ran = (this.row.attempt_seconds ?? 0) * 1_000 + performance.now() - this.#began;
    return Math.max(0, this.#parts.settings.job_seconds * 1_000 - ran);
  }
}
