import { setTimeout as delay } from "node:timers/promises";
import type { JobExecution } from "@azure/arm-appcontainers";
import { containerJob, jobName } from "../../blob/names.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import type { StatusBlob } from "../../contract/output/job-events.ts";
import { type Problem, problemOf } from "../../contract/problems/problem.ts";
import type {
  Execution,
  ExecutionEnd,
  ExecutionListener,
  Executor,
  JobOrder,
  StopReason,
} from "../executor.ts";
import { StatusEvents } from "../status-blobs.ts";
import { ApiFault, type ApiOptions, executionTemplate, type FaultKind, JobsApi } from "./jobs-api.ts";

export interface ContainerAppsOptions extends ApiOptions {
  /** Reads the status blob of an attempt; undefined if the job has not written one yet. */
  readonly readStatus: (
    id: string,
    attempt: number,
    space: JobOrder["space"],
  ) => Promise<StatusBlob | undefined>;
  /** Milliseconds between two polls, plus or minus a tenth; 10 s by default. */
  readonly pollMs?: number;
  /** Called when a poll or a stop fails, once per distinct message in a row; the execution continues. The message contains no secret. */
  readonly onPollFailed: (message: string, order: JobOrder) => void;
  readonly subscription: string | undefined;
  readonly resourceGroup: string | undefined;
  /** The Azure container of all blobs. Jobs cannot reach folders of this machine. */
  readonly container: string | undefined;
  readonly settings?: Readonly<Record<string, string>>;
}

/** `<job>/<execution>`, or only `<job>/` if Azure did not answer the request to start it. */
const HANDLE = /^([a-z0-9-]{1,64})\/([A-Za-z0-9-]{0,128})$/;

const ADVICE: Record<FaultKind, string> = {
  missing: "deploy the job, or correct MUCAST_AZURE_RESOURCE_GROUP and MUCAST_AZURE_SUBSCRIPTION",
  throttled: "it is tried again later",
  denied: "give the service's identity the role that may read, start and stop the jobs (docs/deploying.md)",
  refused: "compare the job with infra/job.bicep",
  transient: "it is tried again later",
};

/**
 * Runs jobs as executions of the Azure Container Apps jobs `ml-worker-job` and `dl-job`. They continue after the service ends, and a later
 * service adopts them by their handles.
 */
export class ContainerAppsExecutor implements Executor {
  readonly name = "container-apps";
  readonly outlivesService = true;
  readonly #api: JobsApi;
  readonly #options: ContainerAppsOptions;
  readonly #closing = new AbortController();

  private constructor(api: JobsApi, options: ContainerAppsOptions) {
    this.#api = api;
    this.#options = options;
  }

  /** Sends no request yet. @throws MucastError invalid_request if a setting is missing. */
  static async open(options: ContainerAppsOptions): Promise<ContainerAppsExecutor> {
    const needed = (path: string, value: string | undefined, variable: string): string => {
      if (value) return value;
      const message = `${path} is required by the executor container-apps: set ${variable}`;
      throw new MucastError("invalid_request", message, { path });
    };
    needed("blob_url", options.container, "BLOB_URL to an Azure container or a bucket of S3");
    const subscription = needed("azure_subscription", options.subscription, "MUCAST_AZURE_SUBSCRIPTION");
    const group = needed("azure_resource_group", options.resourceGroup, "MUCAST_AZURE_RESOURCE_GROUP");
    return new ContainerAppsExecutor(await JobsApi.open(subscription, group, options), options);
  }

  /**
   * Starts an execution for an attempt unless it already has one, so that an attempt never has two.
   * @throws MucastError unavailable if nothing was started: the dispatcher tries again later; internal if Azure refuses the order itself.
   */
  async start(order: JobOrder, listener: ExecutionListener): Promise<Execution> {
    const job = jobName(containerJob(order.operation, order.options ?? {}));
    try {
      return this.#watch(order, job, await this.#findOrStart(job, order), listener);
    } catch (error) {
      if (!(error instanceof ApiFault)) throw error;
      const { kind, message } = error;
      const code = kind === "refused" ? "internal" : "unavailable";
      throw new MucastError(code, `Azure did not start ${job} (${message}): ${ADVICE[kind]}`, { path: job });
    }
  }

  /**
   * @returns its name; undefined if Azure did not answer, so that it may have started or not. Later polls look for it, and it is never
   * started again.
   */
  async #findOrStart(job: string, order: JobOrder): Promise<string | undefined> {
    const { signal } = this.#closing;
    const running = await this.#api.find(job, order, signal);
    if (running !== undefined) return running;
    const template = executionTemplate(await this.#api.job(job, signal), job, order, this.#options.settings);
    if (signal.aborted) throw new ApiFault("transient", "the service is ending");
    try {
      return await this.#api.start(job, template, signal);
    } catch (error) {
      if (error instanceof ApiFault && error.kind === "transient") return undefined;
      throw error;
    }
  }

  /** An execution that is gone ends as lost after some polls, unless its status blob says how it has ended. */
  async adopt(order: JobOrder, handle: string, listener: ExecutionListener): Promise<Execution | undefined> {
    const [, job, name] = HANDLE.exec(handle) ?? [];
    // Otherwise it is a handle of another executor.
    return job === undefined ? undefined : this.#watch(order, job, name || undefined, listener);
  }

  async close(): Promise<void> {
    this.#closing.abort();
  }

  #watch(order: JobOrder, job: string, name: string | undefined, listener: ExecutionListener): Execution {
    const closing = this.#closing.signal;
    return new WatchedExecution({ ...this.#options, api: this.#api, closing, order, job, name, listener });
  }
}

interface WatchParts extends Pick<ContainerAppsOptions, "readStatus" | "pollMs" | "onPollFailed"> {
  readonly api: JobsApi;
  /** Aborts when the service closes: the execution continues, and `ended` stays pending. */
  readonly closing: AbortSignal;
  readonly job: string;
  /** Azure's name of the execution; undefined if Azure did not answer the request to start it. */
  readonly name: string | undefined;
  readonly order: JobOrder;
  readonly listener: ExecutionListener;
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

/** An execution that is polled until it ends: Azure tells its state, the status blob its progress and its end. A failed poll never ends it. */
class WatchedExecution implements Execution {
  readonly handle: string;
  readonly ended: Promise<ExecutionEnd>;
  readonly #parts: WatchParts;
  #name: string | undefined;
  readonly #events = new StatusEvents();
  /** Aborts when it is told to drain: a service that adopts its handle learns how it ends. */
  readonly #draining = new AbortController();
  /** Aborts when it is first told to stop, which ends a pause. */
  readonly #stopping = new AbortController();
  #stopCode: keyof typeof STOPPED | undefined;
  #isStopAccepted = false;
  /** The number of polls that found no execution. */
  #missing = 0;

  constructor(parts: WatchParts) {
    this.#parts = parts;
    this.#name = parts.name;
    this.handle = `${parts.job}/${parts.name ?? ""}`;
    this.ended = new Promise((settle) => void this.#follow(settle));
  }

  stop(reason: StopReason): void {
    if (reason === "draining") this.#draining.abort();
    else {
      this.#stopCode ??= reason;
      this.#stopping.abort();
    }
  }

  async #follow(settle: (end: ExecutionEnd) => void): Promise<void> {
    const { pollMs = 10_000, onPollFailed, order, closing } = this.#parts;
    const signal = AbortSignal.any([closing, this.#draining.signal]);
    // Spreads the polls of services that start together.
    const pause = async (ms: number, ...ends: AbortSignal[]) => {
      const options = { signal: AbortSignal.any([signal, ...ends]) };
      await delay(ms * (0.9 + Math.random() / 5), undefined, options).catch(() => undefined);
    };
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
    const { api, job, order } = this.#parts;
    this.#name ??= await api.find(job, order, signal);
    const known = this.#name === undefined ? undefined : await api.execution(job, this.#name, signal);
    const mayMiss = this.#name === undefined ? UNANSWERED_POLLS : MISSING_POLLS;
    const isRunning = known ? !ENDED.includes(known.status ?? "") : ++this.#missing < mayMiss;
    // After the state, so that nothing newer can follow an end.
    const status = await this.#readStatus();
    if (!isRunning || (status?.end && "record" in status.end))
      return this.#end(status, known ? reasonOf(known) : "Azure knows no such execution");
    if (this.#stopCode !== undefined && !this.#isStopAccepted && this.#name !== undefined) {
      // If Azure refuses, the next poll asks again; if it never agrees, the execution ends by itself at some point.
      await api.stop(job, this.#name, signal);
      this.#isStopAccepted = true;
    }
    return undefined;
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
