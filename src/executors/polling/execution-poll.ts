import { MucastError } from "../../contract/errors/errors.ts";
import type { StatusBlob } from "../../contract/output/status-blob.ts";
import type { ExecutionEnd, ExecutionListener, JobOrder } from "../executor.ts";
import { ApiFault } from "./api-fault.ts";
import { endOf, isFinal, type StopCode, successIn } from "./execution-end.ts";
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
   * @param asked whether to stop it; called again when its end is judged, because the answer may have changed.
   * @returns its end; undefined while it goes on.
   * @throws ApiFault, MucastError: poll again later.
   */
  async once(asked: () => StopCode | undefined, signal: AbortSignal): Promise<ExecutionEnd | undefined> {
    this.#isFound ||= await this.#execution.find(signal);
    const refusal = asked() === undefined ? undefined : await this.#stop(signal);
    const end = await this.#end(asked, signal);
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

  async #end(asked: () => StopCode | undefined, signal: AbortSignal): Promise<ExecutionEnd | undefined> {
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
    return this.#ended(endOf(status, reason, asked()), status);
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
