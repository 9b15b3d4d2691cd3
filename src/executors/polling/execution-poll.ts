import { MucastError } from "../../contract/errors/errors.ts";
import type { StatusBlob } from "../../contract/output/status-blob.ts";
import { type Problem, problemOf } from "../../contract/problems/problem.ts";
import type { ExecutionEnd, ExecutionListener, JobOrder, StopReason } from "../executor.ts";
import { StatusEvents } from "./status-events.ts";

/** Reads the status blob of an attempt; undefined if the job has not written one yet. */
export type ReadStatus = (
  id: string,
  attempt: number,
  space: JobOrder["space"],
) => Promise<StatusBlob | undefined>;

/** What a platform reports about an execution. `reason`: why it ended, for the operator. */
export type PlatformState =
  | { readonly kind: "running" }
  | { readonly kind: "ended"; readonly reason: string };

/** One execution on a platform, which is polled repeatedly. Each call throws ApiFault. */
export interface PlatformExecution {
  /** Name of the platform in error messages. */
  readonly platform: string;
  /** Looks for an execution whose start was not answered. @returns whether the platform's name for it is known. */
  find(signal: AbortSignal): Promise<boolean>;
  /** Only called once it is found. @returns undefined if the platform does not show it. */
  state(signal: AbortSignal): Promise<PlatformState | undefined>;
  /** Only called once it is found. */
  stop(signal: AbortSignal): Promise<void>;
}

/** Polls in a row in which a platform may fail to show an execution: its lists lag behind its starts. */
const MISSING_POLLS = 3;
/** The same for an execution whose start was not answered. If it were declared lost too early, it would be started twice. */
const UNANSWERED_POLLS = 30;

/** Polls an execution: the state comes from the platform, progress and end from the status blob. */
export class ExecutionPoll {
  readonly #execution: PlatformExecution;
  readonly #readStatus: ReadStatus;
  readonly #order: JobOrder;
  readonly #events: StatusEvents;
  #isFound = false;
  #stopAccepted = false;
  /** Polls that found no execution. */
  #missing = 0;
  /** Polls that found it ended without a final status. */
  #silent = 0;

  constructor(
    execution: PlatformExecution,
    readStatus: ReadStatus,
    order: JobOrder,
    listener: ExecutionListener,
  ) {
    this.#execution = execution;
    this.#readStatus = readStatus;
    this.#order = order;
    this.#events = new StatusEvents(listener);
  }

  /**
   * Polls once: reports what is new, and asks the platform to stop the execution if requested.
   * @param stopCode whether to stop it; called again when its end is judged, because the answer may have changed.
   * @returns its end; undefined while it is running.
   * @throws ApiFault, MucastError: poll again later.
   */
  async once(stopCode: () => StopCode | undefined, signal: AbortSignal): Promise<ExecutionEnd | undefined> {
    this.#isFound ||= await this.#execution.find(signal);
    const refusal = stopCode() === undefined ? undefined : await this.#stop(signal);
    const end = await this.#end(stopCode, signal);
    if (end === undefined && refusal !== undefined) throw refusal;
    return end;
  }

  /** @returns why the platform refused to stop it. Polling continues, because the execution ends by itself at some point. */
  async #stop(signal: AbortSignal): Promise<ApiFault | undefined> {
    if (this.#stopAccepted || !this.#isFound) return undefined;
    try {
      await this.#execution.stop(signal);
      this.#stopAccepted = true;
      return undefined;
    } catch (fault) {
      if (fault instanceof ApiFault && ["denied", "refused", "missing"].includes(fault.kind)) return fault;
      throw fault;
    }
  }

  async #end(stopCode: () => StopCode | undefined, signal: AbortSignal): Promise<ExecutionEnd | undefined> {
    const early = await this.#status();
    const success = successIn(early);
    if (success !== undefined) return this.#ended(success, early);
    const state = this.#isFound ? await this.#execution.state(signal) : undefined;
    if (state ? state.kind === "running" : this.#mayStillShow()) return undefined;
    // Read after the end was seen, so nothing newer can follow; read once more in case storage lags behind.
    const status = await this.#status();
    if (!isFinal(status) && this.#silent++ === 0) return undefined;
    const reason =
      state?.kind === "ended" ? state.reason : `${this.#execution.platform} knows no such execution`;
    return this.#ended(endOf(status, reason, stopCode()), status);
  }

  /** Whether to keep waiting for an execution that the platform does not show. */
  #mayStillShow(): boolean {
    this.#missing += 1;
    return this.#missing < (this.#isFound ? MISSING_POLLS : UNANSWERED_POLLS);
  }

  async #status(): Promise<StatusBlob | undefined> {
    try {
      const { id, attempt, space } = this.#order;
      const status = await this.#readStatus(id, attempt, space);
      this.#events.report(status);
      return status;
    } catch (error) {
      // Storage that does not answer will come back. An invalid status blob stays invalid, and the execution has to end.
      if (error instanceof MucastError && error.code === "invalid_data") return undefined;
      throw error;
    }
  }

  #ended(end: ExecutionEnd, status: StatusBlob | undefined): ExecutionEnd {
    this.#events.reportTimings(status);
    return end;
  }
}

/** Why an execution was asked to stop. A service that drains does not ask. */
export type StopCode = Exclude<StopReason, "draining">;

const STOPPED: Record<StopCode, string> = {
  canceled: "the execution was stopped, as asked",
  timed_out: "the execution had reached its time limit and was stopped",
};

/** The end of a job whose status blob reports success: its output is stored, however the container ends. */
function successIn(status: StatusBlob | undefined): ExecutionEnd | undefined {
  const end = status?.end;
  return end && "record" in end ? { kind: "succeeded", record: end.record } : undefined;
}

/**
 * How an execution ended. The job's status blob decides; the platform gives only a reason.
 * @param reason what the platform reports about the end.
 * @param stopCode why the service asked it to stop; undefined if it did not.
 */
function endOf(status: StatusBlob | undefined, reason: string, stopCode: StopCode | undefined): ExecutionEnd {
  const success = successIn(status);
  if (success !== undefined) return success;
  if (stopCode !== undefined)
    return { kind: "failed", problem: problemOf(new MucastError(stopCode, STOPPED[stopCode])) };
  const problem = problemIn(status);
  // Canceled without a request of the service: its machine was taken away, or an operator stopped it.
  if (problem !== undefined && problem.code !== "canceled") return { kind: "failed", problem };
  return { kind: "lost", reason };
}

/** Whether the job's status blob says how it ended. */
export function isFinal(status: StatusBlob | undefined): boolean {
  return status !== undefined && status.end !== null;
}

function problemIn(status: StatusBlob | undefined): Problem | undefined {
  const end = status?.end;
  return end && "problem" in end ? (end.problem as Problem) : undefined;
}

/**
 * How a call of a platform's API failed.
 *
 * - `missing`: what it asked for is not there (404).
 * - `throttled`: too many calls (429); `retryAfterMs` if the platform said for how long.
 * - `denied`: no credentials, or not the right ones (401, 403).
 * - `refused`: the platform understood and said no (other 4xx).
 * - `transient`: no answer, or a server error; the call may or may not have been carried out.
 */
export type FaultKind = "missing" | "throttled" | "denied" | "refused" | "transient";

/** A failed call. The message contains no secret. The client's error is dropped, because it includes the request with its body. */
export class ApiFault extends Error {
  readonly kind: FaultKind;
  /** Milliseconds. */
  readonly retryAfterMs: number | undefined;

  constructor(kind: FaultKind, message: string, retryAfterMs?: number) {
    super(message);
    this.name = "ApiFault";
    this.kind = kind;
    this.retryAfterMs = retryAfterMs;
  }
}
