import type { ContainerAppsAPIClientOptionalParams } from "@azure/arm-appcontainers";
import type { TokenCredential } from "@azure/identity";
import { containerJob, jobName } from "../../blob/names.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import type { Execution, ExecutionListener, Executor, JobOrder } from "../executor.ts";
import { executionTemplate, type JobSettings } from "./execution-template.ts";
import { ApiFault, type FaultKind, faultOf, JobsApi } from "./jobs-api.ts";
import { type ExecutionKey, findExecution, type ReadStatus, WatchedExecution } from "./watched-execution.ts";

export interface ContainerAppsOptions {
  readonly subscription: string | undefined;
  readonly resourceGroup: string | undefined;
  /** The Azure container of all blobs. Jobs cannot reach folders of this machine. */
  readonly container: string | undefined;
  readonly readStatus: ReadStatus;
  /** Settings of the service that every job container gets in its environment. */
  readonly settings?: JobSettings;
  /** Called while an execution cannot be polled or stopped. The message contains no secret. */
  readonly onPollFailed: (message: string, order: JobOrder) => void;
  /** Milliseconds between two polls of an execution; 10 s by default. */
  readonly pollMs?: number;
  /** By default DefaultAzureCredential: environment, managed identity, Azure CLI. */
  readonly credential?: TokenCredential;
  /** Options of the SDK's client, such as another endpoint. */
  readonly client?: ContainerAppsAPIClientOptionalParams;
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
 * Runs jobs as executions of the Azure Container Apps jobs `ml-worker-job` and `dl-job`. They continue after the service ends:
 * `stop("draining")` and `close` detach from them, their `ended` stays pending, and a later service adopts them by their handles.
 */
export class ContainerAppsExecutor implements Executor {
  readonly name = "container-apps";
  readonly outlivesService = true;
  readonly #api: JobsApi;
  readonly #options: ContainerAppsOptions;
  readonly #closing = new AbortController();
  readonly #watched = new Set<WatchedExecution>();

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
    const { credential, client } = options;
    needed("blob_url", options.container, "BLOB_URL to an Azure container or a bucket of S3");
    const api = await JobsApi.open({
      subscription: needed("azure_subscription", options.subscription, "MUCAST_AZURE_SUBSCRIPTION"),
      resourceGroup: needed("azure_resource_group", options.resourceGroup, "MUCAST_AZURE_RESOURCE_GROUP"),
      credential,
      client,
    });
    return new ContainerAppsExecutor(api, options);
  }

  /**
   * Starts an execution for an attempt unless it already has one, so that an attempt never has two.
   * @throws MucastError unavailable if nothing was started: the dispatcher tries again later; internal if Azure refuses the order itself;
   * too_large.
   */
  async start(order: JobOrder, listener: ExecutionListener): Promise<Execution> {
    const job = jobName(containerJob(order.operation, order.options ?? {}));
    try {
      const name = await this.#findOrStart(job, order);
      return this.#watch(order, { job, name }, listener);
    } catch (error) {
      if (!(error instanceof ApiFault)) throw error;
      const { kind, message } = error;
      const code = kind === "refused" ? "internal" : "unavailable";
      throw new MucastError(code, `Azure did not start ${job} (${message}): ${ADVICE[kind]}`, { path: job });
    }
  }

  /**
   * If Azure does not answer now, the execution is assumed to exist; later polls find out. To have it stopped, call `stop` at
   * once, before a poll finds that it has ended by itself.
   */
  async adopt(order: JobOrder, handle: string, listener: ExecutionListener): Promise<Execution | undefined> {
    const [, job, name] = HANDLE.exec(handle) ?? [];
    // A handle of another executor.
    if (job === undefined || name === undefined) return undefined;
    const key = name === "" ? { job, name: undefined } : await this.#find(order, { job, name });
    return key && this.#watch(order, key, listener);
  }

  async close(): Promise<void> {
    this.#closing.abort();
    for (const execution of this.#watched) execution.detach();
    this.#watched.clear();
  }

  /**
   * @returns its name; undefined if Azure did not answer, so that it may have started or not. Later polls look for it, and it is never
   * started again.
   */
  async #findOrStart(job: string, order: JobOrder): Promise<string | undefined> {
    const { signal } = this.#closing;
    const running = await findExecution(this.#api, job, order, signal);
    if (running !== undefined) return running;
    const { settings } = this.#options;
    const template = executionTemplate(await this.#api.job(job, signal), job, order, settings);
    if (signal.aborted) throw new ApiFault("transient", "the service is ending");
    try {
      return await this.#api.start(job, template, signal);
    } catch (error) {
      if (error instanceof ApiFault && error.kind === "transient") return undefined;
      throw error;
    }
  }

  /** Undefined if neither Azure nor a final status shows the execution. */
  async #find(order: JobOrder, key: { job: string; name: string }): Promise<ExecutionKey | undefined> {
    const { signal } = this.#closing;
    try {
      if ((await this.#api.execution(key.job, key.name, signal)) !== undefined) return key;
      const name = await findExecution(this.#api, key.job, order, signal);
      if (name !== undefined) return { job: key.job, name };
      const status = await this.#options.readStatus(order.id, order.attempt, order.space);
      return status?.end ? key : undefined;
    } catch (error) {
      this.#options.onPollFailed(faultOf(error).message, order);
      return key;
    }
  }

  #watch(order: JobOrder, key: ExecutionKey, listener: ExecutionListener): Execution {
    const { readStatus, onPollFailed, pollMs = 10_000 } = this.#options;
    const parts = { api: this.#api, order, listener, readStatus, pollMs, onPollFailed };
    const execution = new WatchedExecution(parts, key);
    this.#watched.add(execution);
    if (this.#closing.signal.aborted) execution.detach();
    void execution.ended.then(() => this.#watched.delete(execution));
    return execution;
  }
}
