import type { ContainerAppsAPIClientOptionalParams } from "@azure/arm-appcontainers";
import type { TokenCredential } from "@azure/identity";
import { jobName } from "../../blob/names.ts";
import { MucastError } from "../../contract/errors/errors.ts";
import type { Execution, ExecutionListener, Executor, JobOrder } from "../executor.ts";
import { faultOf } from "../polling/api-fault.ts";
import { isFinal } from "../polling/execution-end.ts";
import { type ExecutionKey, ExecutionLook, type ReadStatus } from "../polling/execution-look.ts";
import { WatchedExecution } from "../polling/watched-execution.ts";
import type { JobSettings } from "./execution-template.ts";
import { JobsApi } from "./jobs-api.ts";
import { findExecution, startExecution } from "./start-execution.ts";

export interface ContainerAppsOptions {
  readonly subscription: string | undefined;
  readonly resourceGroup: string | undefined;
  /** The Azure container of all blobs; jobs reach no folder of this machine. */
  readonly container: string | undefined;
  readonly readStatus: ReadStatus;
  /** Settings of the service that every job container gets in its environment. */
  readonly settings?: JobSettings;
  /** Told when an execution cannot be looked at or stopped for a while. No secret in the message. */
  readonly onPollFailed: (message: string, order: JobOrder) => void;
  /** Between two looks at an execution; 10 s by default. */
  readonly pollMs?: number;
  /** By default what DefaultAzureCredential finds: environment, managed identity, Azure CLI. */
  readonly credential?: TokenCredential;
  /** Of the SDK's client, such as another endpoint. */
  readonly client?: ContainerAppsAPIClientOptionalParams;
}

/** `<job>/<execution>`, without the latter where starting it was not answered. */
const HANDLE = /^([a-z0-9-]{1,64})\/([A-Za-z0-9-]{0,128})$/;

/**
 * Runs jobs as executions of the Azure Container Apps jobs `ml-worker-job` and `dl-job`. They go on when the service
 * ends: `stop("draining")` and `close` let go of them without stopping them, their `ended` stays open, and a service
 * that comes later adopts them by their handles.
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

  /** Contacts nobody yet. @throws MucastError invalid_request where a setting is missing. */
  static async open(options: ContainerAppsOptions): Promise<ContainerAppsExecutor> {
    const subscription = needed(options.subscription, "azure_subscription", "MUCAST_AZURE_SUBSCRIPTION");
    const resourceGroup = needed(
      options.resourceGroup,
      "azure_resource_group",
      "MUCAST_AZURE_RESOURCE_GROUP",
    );
    needed(options.container, "blob_url", "BLOB_URL to an Azure container");
    const { credential, client } = options;
    const api = await JobsApi.open({ subscription, resourceGroup, credential, client });
    return new ContainerAppsExecutor(api, options);
  }

  async start(order: JobOrder, listener: ExecutionListener): Promise<Execution> {
    const job = jobName(order.operation);
    const { settings } = this.#options;
    const name = await startExecution(this.#api, job, order, this.#closing.signal, settings);
    return this.#watch(order, { job, name }, listener);
  }

  /**
   * Where Azure cannot be asked now, the execution is taken to be there; the looks that follow tell. To have it
   * stopped call `stop` at once, before it is found to have ended on its own.
   */
  async adopt(order: JobOrder, handle: string, listener: ExecutionListener): Promise<Execution | undefined> {
    const [, job, name] = HANDLE.exec(handle) ?? [];
    // A handle of another executor.
    if (job === undefined || name === undefined) return undefined;
    const place = name === "" ? { job, name: undefined } : await this.#find(order, { job, name });
    return place && this.#watch(order, place, listener);
  }

  async close(): Promise<void> {
    this.#closing.abort();
    for (const execution of this.#watched) execution.letGo();
    this.#watched.clear();
  }

  /** Undefined where neither Azure nor a final status knows of the execution. */
  async #find(order: JobOrder, place: { job: string; name: string }): Promise<ExecutionKey | undefined> {
    const { signal } = this.#closing;
    try {
      if ((await this.#api.execution(place.job, place.name, signal)) !== undefined) return place;
      const name = await findExecution(this.#api, place.job, order, signal);
      if (name !== undefined) return { job: place.job, name };
      return isFinal(await this.#options.readStatus(order.id, order.attempt, order.space))
        ? place
        : undefined;
    } catch (error) {
      this.#options.onPollFailed(faultOf(error).message, order);
      return place;
    }
  }

  #watch(order: JobOrder, place: ExecutionKey, listener: ExecutionListener): Execution {
    const { readStatus, onPollFailed, pollMs = 10_000 } = this.#options;
    const look = new ExecutionLook(this.#api, readStatus, order, place, listener);
    const execution = new WatchedExecution(`${place.job}/${place.name ?? ""}`, look, {
      pollMs,
      onPollFailed: (message) => onPollFailed(message, order),
    });
    this.#watched.add(execution);
    if (this.#closing.signal.aborted) execution.letGo();
    void execution.ended.then(() => this.#watched.delete(execution));
    return execution;
  }
}

function needed(value: string | undefined, setting: string, variable: string): string {
  if (value !== undefined && value !== "") return value;
  const message = `${setting} is required by the executor container-apps: set ${variable}`;
  throw new MucastError("invalid_request", message, { path: setting });
}
