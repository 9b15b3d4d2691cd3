import { setTimeout as pause } from "node:timers/promises";
import { MucastError } from "../../contract/errors/errors.ts";
import type { EventBatch, Timing } from "../../contract/output/job-events.ts";
import type { Problem } from "../../contract/problems/problem.ts";
import { publicProblem } from "../../contract/problems/public-problem.ts";
import { EventGatherer } from "../../executors/event-gatherer.ts";
import type {
  Execution,
  ExecutionEnd,
  ExecutionListener,
  JobOrder,
  StopReason,
} from "../../executors/executor.ts";
import { readStatus } from "../../executors/status-blobs.ts";
import type { OperationRow } from "../database/tables.ts";
import { type RunningRow, recordProgress, recordStart, releaseOperation } from "../store/attempts.ts";
import { jobInputs } from "../store/blobs.ts";
import { canceledProblem, finishAttempt, type QueueParts } from "./finish-attempt.ts";

const PAUSE_MILLISECONDS = { first: 500, longest: 10_000 };
const REFUSED_WAIT_SECONDS = 15;
/** How long the service asks the storage for an output before it trusts only the execution. */
const STORAGE_PATIENCE_MILLISECONDS = 300_000;

/** How an attempt ended; `refused` if the executor started nothing. */
type AttemptEnd = ExecutionEnd | { readonly kind: "refused"; readonly error: MucastError };

/** The caller canceled the operation before an execution started. */
const NEVER_STARTED = { kind: "failed", problem: canceledProblem() } as const;

export class RunningJob {
  readonly row: RunningRow;
  /** Resolves when the end is stored, or when the operation no longer belongs to this service; never rejects. */
  readonly done: Promise<void>;
  isReleased = false;
  readonly #parts: QueueParts;
  readonly #began = performance.now();
  readonly #order: JobOrder;
  readonly #batcher: ReturnType<typeof batchProgress>;
  #cores: number;
  #execution: Execution | undefined;
  #stopFor: StopReason | undefined;
  #timings: readonly Timing[] = [];
  readonly #detached = new AbortController();
  /** Of an execution that outlives the service and so reports no end here. */
  readonly #detachedEnd = Promise.withResolvers<ExecutionEnd>();

  constructor(parts: QueueParts, row: RunningRow, cores: number) {
    this.row = row;
    this.#parts = parts;
    this.#cores = cores;
    this.#order = orderOf(row, cores, parts.urlOf);
    this.#batcher = batchProgress(
      (batch) => recordProgress(parts, row, batch),
      (error) => parts.log.warn({ operation_id: row.id, err: error }, "progress could not be stored"),
    );
    if (row.cancel_requested_at) this.#stopFor = "canceled";
    this.done = this.#run();
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

  /** Stores nothing: another service has the operation, or takes it over. An execution that outlives the service continues. */
  detach(): void {
    this.#detached.abort();
    this.#detachedEnd.resolve({ kind: "lost", reason: "detached" });
    this.stop("draining");
  }

  async #run(): Promise<void> {
    const end = await this.#execute();
    await this.#batcher.flush();
    const began = performance.now();
    await this.#untilDone(async () => {
      const lookForOutput = performance.now() - began < STORAGE_PATIENCE_MILLISECONDS;
      this.isReleased = await this.#storeEnd(end, lookForOutput);
    });
  }

  async #execute(): Promise<AttemptEnd> {
    const { executor, log, settings } = this.#parts;
    const { id, handle, attempt_seconds } = this.row;
    const listener: ExecutionListener = {
      onEvents: this.#batcher.take,
      onTimings: (timings) => {
        this.#timings = timings;
      },
    };
    try {
      // No execution of the attempt can run anywhere.
      if (this.#stopFor === "canceled" && handle === null && !executor.outlivesService) return NEVER_STARTED;
      const execution = await (handle === null
        ? executor.start(this.#order, listener)
        : executor.adopt(this.#order, handle, listener));
      if (execution === undefined) return { kind: "lost", reason: "it was gone when the service came back" };
      this.#execution = execution;
      if (this.#cores !== this.#order.workers) execution.setWorkers?.(this.#cores);
      if (handle === null) await this.#untilDone(() => this.#storeStart(execution.handle));
      this.#batcher.begin();
      if (this.#stopFor) execution.stop(this.#stopFor);
      // The time before the job came here by the database's clock, and the time since by the monotonic clock of this process, are not
      // compared: the clocks may differ.
      const ran = (attempt_seconds ?? 0) * 1_000 + performance.now() - this.#began;
      const left = Math.max(0, settings.job_seconds * 1_000 - ran);
      const timer = setTimeout(() => this.stop("timed_out"), left);
      return await Promise.race([execution.ended, this.#detachedEnd.promise]).finally(() =>
        clearTimeout(timer),
      );
    } catch (error) {
      if (error instanceof MucastError && error.code === "unavailable") {
        if (this.#stopFor === "canceled") return NEVER_STARTED;
        const message = "the job could not be started; the service will try again";
        log.warn({ operation_id: id, err: error }, message);
        return { kind: "refused", error };
      }
      let defect_id: string | undefined;
      const problem = publicProblem(error, (defect) => {
        defect_id = defect.id;
      });
      log.error({ operation_id: id, defect_id, err: error }, "the job could not be started");
      return { kind: "failed", problem };
    }
  }

  async #storeStart(handle: string): Promise<void> {
    if (!(await recordStart(this.#parts, this.row, handle))) return;
    const { id, attempt } = this.row;
    const cores = this.#cores;
    this.#parts.telemetry.started(this.row);
    this.#parts.log.info({ operation_id: id, attempt, cores }, "an attempt begins");
  }

  #storeEnd(end: AttemptEnd, lookForOutput: boolean): Promise<boolean> {
    const { database } = this.#parts;
    if (end.kind === "refused") {
      const { retryAfter = REFUSED_WAIT_SECONDS } = end.error.data as { retryAfter?: number };
      return releaseOperation(database, this.row, "refused", retryAfter);
    }
    if (end.kind === "lost" && this.#stopFor === "draining")
      return releaseOperation(database, this.row, "drained", 0);
    return finishAttempt(this.#parts, this.row, end, this.#timings, { lookForOutput });
  }

  /** Repeats an action until it succeeds: the database or the storage may be unreachable. Ends if the job was detached. */
  async #untilDone(action: () => Promise<unknown>): Promise<void> {
    const { signal } = this.#detached;
    for (let wait = PAUSE_MILLISECONDS.first; !signal.aborted; wait *= 2) {
      try {
        await action();
        return;
      } catch (error) {
        const fields = { operation_id: this.row.id, err: error };
        this.#parts.log.warn(fields, "the end of an attempt could not be stored; the service will try again");
      }
      const most = Math.min(wait, PAUSE_MILLISECONDS.longest);
      await pause(most, undefined, { signal }).catch(() => undefined);
    }
  }
}

function orderOf(row: OperationRow, workers: number, urlOf: QueueParts["urlOf"]): JobOrder {
  const { id, attempt, operation, traceparent } = row;
  return { id, attempt, operation, workers, traceparent: traceparent ?? undefined, ...jobInputs(row, urlOf) };
}

const IGNORED: ExecutionListener = { onEvents: () => undefined, onTimings: () => undefined };

/** How an attempt of a service that is gone has ended, by its status blob and its output. @returns true if it must be adopted. */
export async function recoverAttempt(parts: QueueParts, row: RunningRow): Promise<boolean> {
  const { executor, urlOf, store, log } = parts;
  const { id, attempt, handle, space, attempt_seconds } = row;
  // Then a storage that does not answer is not waited for.
  const isOver = row.cancel_requested_at !== null || (attempt_seconds ?? 0) > parts.settings.job_seconds;
  const status = await readStatus(store.within(space), id, attempt).catch((error: unknown) => {
    if (!isOver && !(error instanceof MucastError && error.code === "invalid_data")) throw error;
    log.warn({ operation_id: id, attempt, err: error }, "the status of an attempt is not known");
    return undefined;
  });
  const reported = status?.end;
  const reason = "the service that ran it was killed, crashed, or lost its machine";
  let end: ExecutionEnd = { kind: "lost", reason };
  if (reported && "record" in reported) end = { kind: "succeeded", record: reported.record };
  else if (reported) end = { kind: "failed", problem: reported.problem as Problem };
  else if (executor.outlivesService) return true;
  // On this machine only an execution of this service can still run. `adopt` waits until the processes of any other are gone.
  else if (handle !== null && (await executor.adopt(orderOf(row, 1, urlOf), handle, IGNORED))) return true;
  const finish = (lookForOutput: boolean) =>
    finishAttempt(parts, row, end, reported ? status.timings : [], { lostWith: "service", lookForOutput });
  await finish(true).catch((error: unknown) => {
    if (!isOver) throw error;
    log.warn({ operation_id: id, attempt, err: error }, "could not find out whether the output exists");
    return finish(false);
  });
  return false;
}

/** Stores one batch at a time, and gathers those that arrive meanwhile in bounded memory; nothing before `begin`. */
export function batchProgress(
  store: (batch: EventBatch) => Promise<void>,
  onError: (error: unknown) => void,
) {
  const gathered = new EventGatherer();
  const pace = new StagePace();
  let storing: Promise<void> | undefined;
  let hasBegun = false;

  function storeNext(): void {
    const batch = hasBegun && storing === undefined ? gathered.take() : undefined;
    if (batch === undefined) return;
    // A batch that cannot be stored is lost; the job continues.
    storing = store(batch)
      .catch(onError)
      .finally(() => {
        storing = undefined;
        storeNext();
      });
  }

  return {
    take: (batch: EventBatch): void => {
      const progress = batch.progress && pace.complete(batch.progress);
      gathered.add(progress ? { ...batch, progress } : batch);
      storeNext();
    },
    begin: (): void => {
      hasBegun = true;
      storeNext();
    },
    flush: async (): Promise<void> => {
      while (storing !== undefined) await storing;
    },
  };
}

type Progress = NonNullable<EventBatch["progress"]>;

/** Units that a stage must have done since its first one, so that its pace says something about the rest. */
const MIN_UNITS = 4;

/** Counts from the first done unit: what came before, such as the import of the libraries, does not recur. */
export class StagePace {
  #first: { readonly stage: string; readonly done: number; readonly at: number } | undefined;

  /** Adds the share that is done and the seconds that the rest takes, as far as they are known. @param now in milliseconds. */
  complete(progress: Progress, now = performance.now()): Progress {
    const { stage, done, total } = progress;
    // Another attempt begins from the start.
    if (this.#first?.stage !== stage || done < this.#first.done) this.#first = undefined;
    if (done > 0) this.#first ??= { stage, done, at: now };
    if (total === null || total === 0) return progress;
    const percent = Math.floor((1_000 * Math.min(done, total)) / total) / 10;
    const units = this.#first === undefined ? 0 : done - this.#first.done;
    if (units < MIN_UNITS || done >= total) return { ...progress, percent };
    const seconds_left = Math.ceil((((total - done) / units) * (now - this.#first!.at)) / 1_000);
    return { ...progress, percent, seconds_left };
  }
}
