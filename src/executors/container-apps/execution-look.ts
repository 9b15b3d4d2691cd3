import { MucastError } from "../../contract/errors.ts";
import type { StatusBlob } from "../../contract/status-blob.ts";
import type { ExecutionEnd, ExecutionListener, JobOrder } from "../executor.ts";
import { ApiFault } from "./api-fault.ts";
import { endOf, hasEnded, isFinal, type StopCode, successIn } from "./execution-end.ts";
import type { JobsApi } from "./jobs-api.ts";
import { StatusNews } from "./status-news.ts";

/** Reads what an attempt says of itself; undefined where it has not said anything yet. */
export type ReadStatus = (id: string, attempt: number) => Promise<StatusBlob | undefined>;

/** An execution of a job, by the names that Azure knows them by. */
export interface ExecutionPlace {
  readonly job: string;
  readonly name: string;
}

/** Times in a row that Azure may say an execution is not there: what it lists follows what it starts with a delay. */
const MISSING_LOOKS = 3;

/** Looks at an execution: its state as Azure tells it, its progress and its end as its status blob does. */
export class ExecutionLook {
  readonly #api: JobsApi;
  readonly #readStatus: ReadStatus;
  readonly #order: JobOrder;
  readonly #place: ExecutionPlace;
  readonly #news: StatusNews;
  #stopAccepted = false;
  /** Looks in a row that found no execution; looks that found it ended without a final status. */
  #missing = 0;
  #silent = 0;

  constructor(
    api: JobsApi,
    readStatus: ReadStatus,
    order: JobOrder,
    place: ExecutionPlace,
    listener: ExecutionListener,
  ) {
    this.#api = api;
    this.#readStatus = readStatus;
    this.#order = order;
    this.#place = place;
    this.#news = new StatusNews(listener);
  }

  /**
   * One look: tells what is new, asks Azure to stop the execution where that is wanted.
   * @param asked whether it is to stop; asked for again when its end is judged, as that may change meanwhile.
   * @returns its end; undefined while it goes on. @throws ApiFault, MucastError: look again later.
   */
  async once(asked: () => StopCode | undefined, signal: AbortSignal): Promise<ExecutionEnd | undefined> {
    const refusal = asked() === undefined ? undefined : await this.#stop(signal);
    const end = await this.#end(asked, signal);
    if (end === undefined && refusal !== undefined) throw refusal;
    return end;
  }

  /** @returns why Azure would not stop it: also one that may not be stopped ends some time. */
  async #stop(signal: AbortSignal): Promise<ApiFault | undefined> {
    if (this.#stopAccepted) return undefined;
    try {
      await this.#api.stop(this.#place.job, this.#place.name, signal);
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
    const execution = await this.#api.execution(this.#place.job, this.#place.name, signal);
    this.#missing = execution === undefined ? this.#missing + 1 : 0;
    if (execution === undefined ? this.#missing < MISSING_LOOKS : !hasEnded(execution)) return undefined;
    // Read after the end was seen, so that nothing newer can follow; once more where storage lags behind.
    const status = await this.#status();
    if (!isFinal(status) && this.#silent++ === 0) return undefined;
    return this.#ended(endOf(status, execution, asked()), status);
  }

  async #status(): Promise<StatusBlob | undefined> {
    try {
      const status = await this.#readStatus(this.#order.id, this.#order.attempt);
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
