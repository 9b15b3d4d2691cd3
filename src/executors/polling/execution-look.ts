import { MucastError } from "../../contract/errors/errors.ts";
import type { StatusBlob } from "../../contract/output/status-blob.ts";
import type { JobsApi } from "../container-apps/jobs-api.ts";
import { findExecution } from "../container-apps/start-execution.ts";
import type { ExecutionEnd, ExecutionListener, JobOrder } from "../executor.ts";
import { ApiFault } from "./api-fault.ts";
import { endOf, hasEnded, isFinal, type StopCode, successIn } from "./execution-end.ts";
import { StatusEvents } from "./status-events.ts";

/** Reads what an attempt says of itself; undefined where it has not said anything yet. */
export type ReadStatus = (
  id: string,
  attempt: number,
  space: JobOrder["space"],
) => Promise<StatusBlob | undefined>;

/** An execution of a job, by the names that Azure knows them by. */
export interface ExecutionKey {
  readonly job: string;
  /** Undefined where starting it was not answered. */
  readonly name: string | undefined;
}

/** Times in a row that Azure may say an execution is not there: what it shows follows what it starts with a delay. */
const MISSING_LOOKS = 3;
/** The same for one whose start was not answered: taken for lost too early, it would be started twice. */
const UNANSWERED_LOOKS = 30;

/** Looks at an execution: its state as Azure tells it, its progress and its end as its status blob does. */
export class ExecutionLook {
  readonly #api: JobsApi;
  readonly #readStatus: ReadStatus;
  readonly #order: JobOrder;
  readonly #job: string;
  #name: string | undefined;
  readonly #news: StatusEvents;
  #stopAccepted = false;
  /** Looks that found no execution; looks that found it ended without a final status. */
  #missing = 0;
  #silent = 0;

  constructor(
    api: JobsApi,
    readStatus: ReadStatus,
    order: JobOrder,
    place: ExecutionKey,
    listener: ExecutionListener,
  ) {
    this.#api = api;
    this.#readStatus = readStatus;
    this.#order = order;
    this.#job = place.job;
    this.#name = place.name;
    this.#news = new StatusEvents(listener);
  }

  /**
   * One look: tells what is new, asks Azure to stop the execution where that is wanted.
   * @param asked whether it is to stop; asked for again when its end is judged, as that may change meanwhile.
   * @returns its end; undefined while it goes on. @throws ApiFault, MucastError: look again later.
   */
  async once(asked: () => StopCode | undefined, signal: AbortSignal): Promise<ExecutionEnd | undefined> {
    this.#name ??= await findExecution(this.#api, this.#job, this.#order, signal);
    const refusal = asked() === undefined ? undefined : await this.#stop(signal);
    const end = await this.#end(asked, signal);
    if (end === undefined && refusal !== undefined) throw refusal;
    return end;
  }

  /** @returns why Azure would not stop it: also one that may not be stopped ends some time. */
  async #stop(signal: AbortSignal): Promise<ApiFault | undefined> {
    if (this.#stopAccepted || this.#name === undefined) return undefined;
    try {
      await this.#api.stop(this.#job, this.#name, signal);
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
    const execution = this.#name && (await this.#api.execution(this.#job, this.#name, signal));
    if (execution ? !hasEnded(execution) : this.#mayStillShow()) return undefined;
    // Read after the end was seen, so that nothing newer can follow; once more where storage lags behind.
    const status = await this.#status();
    if (!isFinal(status) && this.#silent++ === 0) return undefined;
    return this.#ended(endOf(status, execution || undefined, asked()), status);
  }

  /** Whether an execution that Azure does not show is waited for once more. */
  #mayStillShow(): boolean {
    this.#missing += 1;
    return this.#missing < (this.#name === undefined ? UNANSWERED_LOOKS : MISSING_LOOKS);
  }

  async #status(): Promise<StatusBlob | undefined> {
    try {
      const { id, attempt, space } = this.#order;
      const status = await this.#readStatus(id, attempt, space);
      this.#news.tell(status);
      return status;
    } catch (error) {
      // Storage that is away comes back; what is no status does not become one, and the execution has to end.
      if (error instanceof MucastError && error.code === "invalid_data") return undefined;
      throw error;
    }
  }

  #ended(end: ExecutionEnd, status: StatusBlob | undefined): ExecutionEnd {
    this.#news.tellTimings(status);
    return end;
  }
}
