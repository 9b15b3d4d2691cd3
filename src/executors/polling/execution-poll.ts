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

/** What a platform says of an execution. `reason`: why it runs no more, for the operator. */
export type PlatformState =
  | { readonly kind: "running" }
  | { readonly kind: "ended"; readonly reason: string };

/** One execution of a platform that is asked for it again and again. Each call throws ApiFault. */
export interface PlatformExecution {
  /** Of the platform, as error messages have it. */
  readonly platform: string;
  /** Looks for an execution whose start was not answered. @returns whether the platform's name of it is known. */
  find(signal: AbortSignal): Promise<boolean>;
  /** Only once it is found. @returns undefined if the platform does not show it. */
  state(signal: AbortSignal): Promise<PlatformState | undefined>;
  /** Only once it is found. */
  stop(signal: AbortSignal): Promise<void>;
}

/** Times in a row that a platform may not show an execution: what it shows follows what it starts with a delay. */
const MISSING_POLLS = 3;
/** The same for one whose start was not answered: taken for lost too early, it would be started twice. */
const UNANSWERED_POLLS = 30;

/** Polls an execution: the platform gives its state, its status blob its progress and its end. */
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
   * Polls once: reports what is new, and asks the platform to stop the execution if that is wanted.
   * @param asked whether it is to stop; called again when its end is judged, as that may change meanwhile.
   * @returns its end; undefined while it goes on. @throws ApiFault, MucastError: poll again later.
   */
  async once(asked: () => StopCode | undefined, signal: AbortSignal): Promise<ExecutionEnd | undefined> {
    this.#isFound ||= await this.#execution.find(signal);
    const refusal = asked() === undefined ? undefined : await this.#stop(signal);
    const end = await this.#end(asked, signal);
    if (end === undefined && refusal !== undefined) throw refusal;
    return end;
  }

  /** @returns why the platform would not stop it: the polls go on, as it ends by itself some time. */
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
    // Read after the end was seen, so that nothing newer can follow; once more if storage lags behind.
    const status = await this.#status();
    if (!isFinal(status) && this.#silent++ === 0) return undefined;
    const reason =
      state?.kind === "ended" ? state.reason : `${this.#execution.platform} knows no such execution`;
    return this.#ended(endOf(status, reason, asked()), status);
  }

  /** Whether to wait once more for an execution that the platform does not show. */
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
      // A storage that does not answer comes back. A blob that is no status stays none, and the execution has to end.
      if (error instanceof MucastError && error.code === "invalid_data") return undefined;
      throw error;
    }
  }

  #ended(end: ExecutionEnd, status: StatusBlob | undefined): ExecutionEnd {
    this.#events.reportTimings(status);
    return end;
  }
}
