import { setTimeout as pause } from "node:timers/promises";
import { MucastError } from "../../contract/errors/errors.ts";
import { shownProblem } from "../../contract/errors/shown-problem.ts";
import type { Timing } from "../../contract/output/status-blob.ts";
import type { Execution, ExecutionEnd, JobOrder, StopReason } from "../../executors/executor.ts";
import { recordStart } from "../store/claim-operation.ts";
import { releaseOperation } from "../store/end-operation.ts";
import type { OperationRow } from "../store/operation-rows.ts";
import { recordProgress } from "../store/record-progress.ts";
import { canceledProblem, finishAttempt } from "./finish-attempt.ts";
import { ProgressBatcher } from "./progress-batcher.ts";
import { orderOf, type QueueParts } from "./queue-parts.ts";

const PAUSE_MILLISECONDS = { first: 500, most: 10_000 };
const REFUSED_WAIT_SECONDS = 15;
/** How long the storage is asked for an output before what the execution said is believed alone. */
const STORAGE_PATIENCE_MILLISECONDS = 300_000;

/** It could not be started now, and nothing of it was. */
interface Refusal {
  readonly refused: MucastError;
}

/** Nobody wants it any more by the time when it could begin. */
const NEVER_BEGUN = { kind: "failed", problem: canceledProblem() } as const;

/** One attempt that this service looks after, from its start, or its adoption, until its end is written down. */
export class RunningJob {
  readonly row: OperationRow;
  /** Settles once the operation's row says what became of it, or is no longer ours; never rejects. */
  readonly done: Promise<void>;
  readonly #parts: QueueParts;
  readonly #began = performance.now();
  readonly #order: JobOrder;
  #execution: Execution | undefined;
  #stopFor: StopReason | undefined;
  #timings: readonly Timing[] = [];
  readonly #detach = new AbortController();
  /** One that outlives the service goes on, and nobody here hears of its end. */
  readonly #onLetGo = new Promise<ExecutionEnd>((resolve) => {
    this.#detach.signal.addEventListener("abort", () => resolve({ kind: "lost", reason: "let go" }));
  });

  /** @param row as claimed or taken over; one with a handle is adopted. @param workers cores it may use. */
  constructor(parts: QueueParts, row: OperationRow, workers: number) {
    this.#parts = parts;
    this.row = row;
    this.#order = orderOf(row, workers, parts.urlOf);
    if (row.cancel_requested_at) this.#stopFor = "canceled";
    this.done = this.#run();
  }

  /** Asks it to stop; the first reason stands. */
  stop(reason: StopReason): void {
    this.#stopFor ??= reason;
    this.#execution?.stop(this.#stopFor);
  }

  /** Stops it without another word: another service has the operation now, or will have it. */
  detach(): void {
    this.#detach.abort();
    this.stop("draining");
  }

  async #run(): Promise<void> {
    const parts = this.#parts;
    const fields = { operation_id: this.row.id };
    const feed = new ProgressBatcher(
      (news) =>
        recordProgress(parts.database, this.row, news, {
          events: parts.settings.events_kept,
          webhooks: parts.webhooks,
        }),
      (error) => parts.log.warn({ ...fields, err: error }, "progress could not be stored"),
    );
    const end = await this.#execute(feed);
    await feed.end();
    const began = performance.now();
    const isPatient = () => performance.now() - began < STORAGE_PATIENCE_MILLISECONDS;
    await this.#insist(() => this.#writeDown(end, isPatient()));
  }

  /** Runs it to its end. */
  async #execute(feed: ProgressBatcher): Promise<ExecutionEnd | Refusal> {
    try {
      if (this.#stopFor === "canceled" && this.#mayLeaveIt()) return NEVER_BEGUN;
      const execution = await this.#begin(feed);
      if (execution === undefined) return { kind: "lost", reason: "it was gone when the service came back" };
      this.#execution = execution;
      if (this.row.handle === null) await this.#insist(() => this.#tellStart(execution.handle));
      if (this.#stopFor) execution.stop(this.#stopFor);
      const timer = setTimeout(() => this.stop("timed_out"), this.#millisecondsLeft());
      return await Promise.race([execution.ended, this.#onLetGo]).finally(() => clearTimeout(timer));
    } catch (error) {
      if (error instanceof MucastError && error.code === "unavailable") {
        if (this.#stopFor === "canceled") return NEVER_BEGUN;
        this.#parts.log.warn({ operation_id: this.row.id, err: error }, "the job could not be started now");
        return { refused: error };
      }
      let defect_id: string | undefined;
      const problem = shownProblem(error, ({ id }) => {
        defect_id = id;
      });
      const fields = { operation_id: this.row.id, defect_id, err: error };
      this.#parts.log.error(fields, "the job could not be started");
      return { kind: "failed", problem };
    }
  }

  /** Whether nothing of it can run anywhere. */
  #mayLeaveIt(): boolean {
    return this.row.handle === null && !this.#parts.executor.outlivesService;
  }

  async #tellStart(handle: string): Promise<void> {
    const { database, webhooks, telemetry } = this.#parts;
    if (!(await recordStart(database, this.row, handle, webhooks))) return;
    const { workers } = this.#order;
    telemetry.started(this.row, workers);
    const { id, attempt } = this.row;
    this.#parts.log.info({ operation_id: id, attempt, cores: workers }, "an attempt begins");
  }

  #begin(feed: ProgressBatcher): Promise<Execution | undefined> {
    const { executor } = this.#parts;
    const listener = {
      onEvent: feed.take,
      onTimings: (timings: readonly Timing[]) => {
        this.#timings = timings;
      },
    };
    const { handle } = this.row;
    return handle === null
      ? executor.start(this.#order, listener)
      : executor.adopt(this.#order, handle, listener);
  }

  async #writeDown(end: ExecutionEnd | Refusal, lookForOutput: boolean): Promise<void> {
    const { database } = this.#parts;
    if ("refused" in end) {
      const { retryAfter = REFUSED_WAIT_SECONDS } = end.refused.data as { retryAfter?: number };
      await releaseOperation(database, this.row, "refused", retryAfter);
      return;
    }
    if (end.kind === "lost" && this.#stopFor === "draining") {
      await releaseOperation(database, this.row, "handed back", 0);
      return;
    }
    await finishAttempt(this.#parts, this.row, end, { timings: this.#timings, lookForOutput });
  }

  /** Until it works: the database or the storage may be away for a while. Given up where the job was let go. */
  async #insist(action: () => Promise<unknown>): Promise<void> {
    for (let wait = PAUSE_MILLISECONDS.first; !this.#detach.signal.aborted; wait *= 2) {
      try {
        await action();
        return;
      } catch (error) {
        const fields = { operation_id: this.row.id, err: error };
        this.#parts.log.warn(fields, "what became of an attempt could not be written down yet");
      }
      const most = Math.min(wait, PAUSE_MILLISECONDS.most);
      await pause(most, undefined, { signal: this.#detach.signal }).catch(() => undefined);
    }
  }

  /**
   * The time it had run when it came here, by the database's clock, and since then by this process's, which is never set. The
   * one clock is not held against the other: they may be apart.
   */
  #millisecondsLeft(): number {
    const ran = (this.row.attempt_seconds ?? 0) * 1_000 + performance.now() - this.#began;
    return Math.max(0, this.#parts.settings.job_seconds * 1_000 - ran);
  }
}
