import type { ContainerAppsAPIClientOptionalParams } from "@azure/arm-appcontainers";
import type { TokenCredential } from "@azure/identity";
import { containerJob, jobName } from "../../blob/names.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import type { Execution, ExecutionListener, Executor, JobOrder } from "../executor.ts";
import { executionTemplate, type JobSettings } from "./execution-template.ts";
import { ApiFault, type FaultKind, faultOf, JobsApi } from "./jobs-api.ts";
import { WatchedExecution, type WatchOptions } from "./watched-execution.ts";

export interface ContainerAppsOptions extends WatchOptions {
  readonly subscription: string | undefined;
  readonly resourceGroup: string | undefined;
  /** The Azure container of all blobs. Jobs cannot reach folders of this machine. */
  readonly container: string | undefined;
  /** Settings of the service that every job container gets in its environment. */
  readonly settings?: JobSettings;
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

  /**
   * Undefined if neither Azure nor a final status shows the execution. If Azure does not answer now, it is assumed to exist; later polls
   * find out. To have it stopped, call `stop` at once, before a poll finds that it has ended by itself.
   */
  async adopt(order: JobOrder, handle: string, listener: ExecutionListener): Promise<Execution | undefined> {
    const [, job, started] = HANDLE.exec(handle) ?? [];
    // A handle of another executor.
    if (job === undefined || started === undefined) return undefined;
    const { signal } = this.#closing;
    const { readStatus, onPollFailed } = this.#options;
    if (started === "") return this.#watch(order, job, undefined, listener);
    try {
      const isThere = (await this.#api.execution(job, started, signal)) !== undefined;
      const name = isThere ? started : await this.#api.find(job, order, signal);
      if (name !== undefined) return this.#watch(order, job, name, listener);
      if (!(await readStatus(order.id, order.attempt, order.space))?.end) return undefined;
    } catch (error) {
      onPollFailed(faultOf(error).message, order);
    }
    return this.#watch(order, job, started, listener);
  }

  async close(): Promise<void> {
    this.#closing.abort();
    for (const execution of this.#watched) execution.detach();
    this.#watched.clear();
  }

  #watch(order: JobOrder, job: string, name: string | undefined, listener: ExecutionListener): Execution {
    const execution = new WatchedExecution({ ...this.#options, api: this.#api, order, job, name, listener });
    this.#watched.add(execution);
    if (this.#closing.signal.aborted) execution.detach();
    void execution.ended.then(() => this.#watched.delete(execution));
    return execution;
  }
}
