import type { ContainerAppsAPIClientOptionalParams } from "@azure/arm-appcontainers";
import type { TokenCredential } from "@azure/identity";
import { containerJob, jobName } from "../../blob/names.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import type { Execution, ExecutionListener, Executor, JobOrder } from "../executor.ts";
import { ExecutionPoll, isFinal, type ReadStatus } from "../polling/execution-poll.ts";
import { WatchedExecution } from "../polling/watched-execution.ts";
import { AzureExecution, type ExecutionKey, findExecution, startExecution } from "./azure-execution.ts";
import type { JobSettings } from "./execution-template.ts";
import { faultOf, JobsApi } from "./jobs-api.ts";

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

/** `<job>/<execution>`, or only `<job>` if Azure did not answer the request to start it. */
const HANDLE = /^([a-z0-9-]{1,64})\/([A-Za-z0-9-]{0,128})$/;

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
    const subscription = needed(options.subscription, "azure_subscription", "MUCAST_AZURE_SUBSCRIPTION");
    const resourceGroup = needed(
      options.resourceGroup,
      "azure_resource_group",
      "MUCAST_AZURE_RESOURCE_GROUP",
    );
    needed(options.container, "blob_url", "BLOB_URL to an Azure container or a bucket of S3");
    const { credential, client } = options;
    const api = await JobsApi.open({ subscription, resourceGroup, credential, client });
    return new ContainerAppsExecutor(api, options);
  }

  async start(order: JobOrder, listener: ExecutionListener): Promise<Execution> {
    const job = jobName(containerJob(order.operation, order.options ?? {}));
    const { settings } = this.#options;
    const name = await startExecution(this.#api, job, order, this.#closing.signal, settings);
    return this.#watch(order, { job, name }, listener);
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

  /** Undefined if neither Azure nor a final status shows the execution. */
  async #find(order: JobOrder, key: { job: string; name: string }): Promise<ExecutionKey | undefined> {
    const { signal } = this.#closing;
    try {
      if ((await this.#api.execution(key.job, key.name, signal)) !== undefined) return key;
      const name = await findExecution(this.#api, key.job, order, signal);
      if (name !== undefined) return { job: key.job, name };
      return isFinal(await this.#options.readStatus(order.id, order.attempt, order.space)) ? key : undefined;
    } catch (error) {
      this.#options.onPollFailed(faultOf(error).message, order);
      return key;
    }
  }

  #watch(order: JobOrder, key: ExecutionKey, listener: ExecutionListener): Execution {
    const { readStatus, onPollFailed, pollMs = 10_000 } = this.#options;
    const poll = new ExecutionPoll(new AzureExecution(this.#api, order, key), readStatus, order, listener);
    const execution = new WatchedExecution(`${key.job}/${key.name ?? ""}`, poll, {
      pollMs,
      onPollFailed: (message) => onPollFailed(message, order),
    });
    this.#watched.add(execution);
    if (this.#closing.signal.aborted) execution.detach();
    void execution.ended.then(() => this.#watched.delete(execution));
    return execution;
  }
}

function needed(value: string | undefined, setting: string, variable: string): string {
  if (value !== undefined && value !== "") return value;
  const message = `${setting} is required by the executor container-apps: set ${variable}`;
  throw new MucastError("invalid_request", message, { path: setting });
}
