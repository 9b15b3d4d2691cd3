import { setTimeout as delay } from "node:timers/promises";
import type { JobExecution } from "@azure/arm-appcontainers";
import { MucastError } from "../../contract/errors/errors.ts";
import type { StatusBlob } from "../../contract/output/job-events.ts";
import { type Problem, problemOf } from "../../contract/problems/problem.ts";
import type { Execution, ExecutionEnd, ExecutionListener, JobOrder, StopReason } from "../executor.ts";
import { StatusEvents } from "../status-reader.ts";
import { carries } from "./execution-template.ts";
import { ApiFault, type JobsApi } from "./jobs-api.ts";

/** Reads the status blob of an attempt; undefined if the job has not written one yet. */
export type ReadStatus = (
  id: string,
  attempt: number,
  space: JobOrder["space"],
) => Promise<StatusBlob | undefined>;

/** The names by which Azure knows an execution of a job. */
export interface ExecutionKey {
  readonly job: string;
  /** Undefined if Azure did not answer the request to start it. */
  readonly name: string | undefined;
}

/** What to watch, and how. */
interface WatchParts {
  readonly api: JobsApi;
  readonly order: JobOrder;
  readonly listener: ExecutionListener;
  readonly readStatus: ReadStatus;
  /** Milliseconds between two polls, plus or minus a tenth. */
  readonly pollMs: number;
  /** Called when a poll or a stop fails, once per distinct message in a row; the execution continues. The message contains no secret. */
  readonly onPollFailed: (message: string, order: JobOrder) => void;
}

/** Polls in a row in which Azure may fail to show an execution: its lists lag behind its starts. */
const MISSING_POLLS = 3;
/** The same for an execution whose start was not answered. If it were declared lost too early, it would be started twice. */
const UNANSWERED_POLLS = 30;
/** The longest pause between failed polls, in intervals. */
const MAX_BACKOFF = 12;

/** States in which nothing of an execution runs. In Running, Processing, Degraded and Unknown it continues. */
const ENDED: readonly string[] = ["Succeeded", "Failed", "Stopped"];

const STOPPED = {
  canceled: "the execution was stopped, as asked",
  timed_out: "the execution had reached its time limit and was stopped",
};

/** The name of the execution of an attempt, running or ended. @throws ApiFault. */
export async function findExecution(
  api: JobsApi,
  job: string,
  order: JobOrder,
  signal: AbortSignal,
): Promise<string | undefined> {
  return (await api.find(job, (execution) => carries(execution, order), signal))?.name;
}

/** An execution that is polled until it ends: Azure tells its state, the status blob its progress and its end. A failed poll never ends it. */
export class WatchedExecution implements Execution {
  readonly handle: string;
  readonly ended: Promise<ExecutionEnd>;
  readonly #parts: WatchParts;
  readonly #job: string;
  #name: string | undefined;
  readonly #events = new StatusEvents();
  readonly #detached = new AbortController();
  /** Aborts when it is first told to stop, which ends a pause. */
  readonly #stopping = new AbortController();
  #stopCode: keyof typeof STOPPED | undefined;
  #isStopAccepted = false;
  /** Polls that found no execution, and polls that found it ended without a final status. */
  #polls = { missing: 0, silent: 0 };

  constructor(parts: WatchParts, { job, name }: ExecutionKey) {
    this.#parts = parts;
    this.#job = job;
    this.#name = name;
    this.handle = `${job}/${name ?? ""}`;
    this.ended = new Promise((settle) => void this.#follow(settle));
  }

  /** `draining` detaches from the execution and leaves it running. */
  stop(reason: StopReason): void {
    if (reason === "draining") {
      this.detach();
      return;
    }
    this.#stopCode ??= reason;
    this.#stopping.abort();
  }

  /** Stops polling. The execution continues, and `ended` stays pending: a service that adopts its handle learns how it ends. */
  detach(): void {
    this.#detached.abort();
  }

  async #follow(settle: (end: ExecutionEnd) => void): Promise<void> {
    const { pollMs, onPollFailed, order } = this.#parts;
    const { signal } = this.#detached;
    // Spreads the polls of services that start together.
    const pause = (ms: number, ...ends: AbortSignal[]) =>
      delay(ms * (0.9 + Math.random() / 5), undefined, { signal: AbortSignal.any([signal, ...ends]) }).catch(
        () => undefined,
      );
    let failures = 0;
    let reported: string | undefined;
    while (!signal.aborted) {
      const { aborted: wasStopping } = this.#stopping.signal;
      try {
        const end = await this.#poll(signal);
        if (end !== undefined) return settle(end);
        failures = 0;
        reported = undefined;
        await pause(pollMs, ...(wasStopping ? [] : [this.#stopping.signal]));
      } catch (error) {
        if (signal.aborted) return;
        const message = error instanceof Error ? error.message : String(error);
        if (message !== reported) onPollFailed(message, order);
        reported = message;
        failures += 1;
        await pause(pollMs * Math.min(2 ** failures, MAX_BACKOFF));
      }
    }
  }

  /** @returns its end; undefined while it is running. @throws ApiFault, MucastError: poll again later. */
  async #poll(signal: AbortSignal): Promise<ExecutionEnd | undefined> {
    const { api, order } = this.#parts;
    this.#name ??= await findExecution(api, this.#job, order, signal);
    const refusal = await this.#askToStop(signal);
    const end = await this.#findEnd(signal);
    // If it may not be stopped, it ends by itself at some point.
    if (end === undefined && refusal !== undefined) throw refusal;
    return end;
  }

  /** @returns why Azure refused to stop it. */
  async #askToStop(signal: AbortSignal): Promise<ApiFault | undefined> {
    if (this.#stopCode === undefined || this.#isStopAccepted || this.#name === undefined) return undefined;
    try {
      await this.#parts.api.stop(this.#job, this.#name, signal);
      this.#isStopAccepted = true;
      return undefined;
    } catch (fault) {
      if (fault instanceof ApiFault && ["denied", "refused", "missing"].includes(fault.kind)) return fault;
      throw fault;
    }
  }

  async #findEnd(signal: AbortSignal): Promise<ExecutionEnd | undefined> {
    const early = await this.#readStatus();
    if (early?.end && "record" in early.end) return this.#end(early, "");
    const known =
      this.#name === undefined ? undefined : await this.#parts.api.execution(this.#job, this.#name, signal);
    const mayMiss = this.#name === undefined ? UNANSWERED_POLLS : MISSING_POLLS;
    const isRunning = known ? !ENDED.includes(known.status ?? "") : ++this.#polls.missing < mayMiss;
    if (isRunning) return undefined;
    // Read after the end was seen, so nothing newer can follow; read once more in case storage lags behind.
    const status = await this.#readStatus();
    if (!status?.end && this.#polls.silent++ === 0) return undefined;
    return this.#end(status, known ? reasonOf(known) : "Azure knows no such execution");
  }

  async #readStatus(): Promise<StatusBlob | undefined> {
    const { readStatus, order, listener } = this.#parts;
    try {
      const status = await readStatus(order.id, order.attempt, order.space);
      const batch = status && this.#events.next(status);
      if (batch !== undefined) listener.onEvents(batch);
      return status;
    } catch (error) {
      // Storage that does not answer will come back. An invalid status blob stays invalid, and the execution has to end.
      if (error instanceof MucastError && error.code === "invalid_data") return undefined;
      throw error;
    }
  }

  /** The job's own word decides; Azure gives only a reason. */
  #end(status: StatusBlob | undefined, reason: string): ExecutionEnd {
    if (status !== undefined) this.#parts.listener.onTimings(status.timings);
    const end = status?.end;
    if (end && "record" in end) return { kind: "succeeded", record: end.record };
    const code = this.#stopCode;
    if (code !== undefined)
      return { kind: "failed", problem: problemOf(new MucastError(code, STOPPED[code])) };
    // Canceled without a request of the service: its machine was taken away, or an operator stopped it.
    if (!end || end.problem.code === "canceled") return { kind: "lost", reason };
    return { kind: "failed", problem: end.problem as Problem };
  }
}

/** How Azure explains the end of an execution whose job did not report one. */
function reasonOf({ status, reason, message, detailedStatus }: JobExecution): string {
  const containers = (detailedStatus?.replicas ?? []).flatMap((replica) => replica.containers ?? []);
  const codes = containers.flatMap(({ code, additionalInformation }) => [
    code === undefined ? "" : `exit code ${code}`,
    additionalInformation,
  ]);
  const facts = [...new Set([reason, message, ...codes].filter(Boolean))];
  const why = facts.length === 0 ? "" : `: ${facts.join(", ")}`;
  return `the execution is ${status} without a final status${why}`.slice(0, 500);
}
